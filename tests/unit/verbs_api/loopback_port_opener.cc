// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// open_port for a build that has no wires.
#include "tests/unit/verbs_api/loopback_port_opener.h"

#include <memory>

#include "drivers/loopback/loopback_port.h"
#include "transport/wire/ethernet.h"
#include "verbs_api/config/port_opener.h"

namespace urnic::test {

bool port_may_be_opened_after_fork = true;

}  // namespace urnic::test

namespace urnic::verbs_api {

Result<nic::OpenedPort, Error> open_port(const NicEnvironment& environment) {
  const std::size_t max_frame_bytes =
      std::size_t{environment.device.link_mtu} + transport::wire::Ethernet::kMinBytes;
  return std::unique_ptr<nic::PacketPort>(
      std::make_unique<drivers::LoopbackPort>(environment.device.mac, nullptr, max_frame_bytes));
}

bool may_open_port_after_fork(const NicEnvironment&) {
  return test::port_may_be_opened_after_fork;
}

}  // namespace urnic::verbs_api
