// open_port for a build that has no wires.
#include <memory>

#include "drivers/loopback/loopback_port.h"
#include "transport/wire/ethernet.h"
#include "verbs_api/config/port_opener.h"

namespace urnic::verbs_api {

Result<nic::OpenedPort, Error> open_port(const NicEnvironment& environment) {
  const std::size_t max_frame_bytes =
      std::size_t{environment.device.link_mtu} + transport::wire::Ethernet::kMinBytes;
  return std::unique_ptr<nic::PacketPort>(
      std::make_unique<drivers::LoopbackPort>(environment.device.mac, nullptr, max_frame_bytes));
}

}  // namespace urnic::verbs_api
