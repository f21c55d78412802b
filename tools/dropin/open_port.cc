#include "drivers/dpdk/open_port.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "drivers/direct/direct_port.h"
#include "drivers/fabric/join.h"
#include "drivers/fault/fault_port.h"
#include "drivers/fault/fault_spec.h"
#include "drivers/loopback/loopback_port.h"
#include "drivers/pcap/recorder_port.h"
#include "drivers/udp/udp_port.h"
#include "nic/clock.h"
#include "nic/host/fabric_folder.h"
#include "transport/wire/ethernet.h"
#include "verbs_api/config/port_opener.h"

namespace urnic::verbs_api {
namespace {

using PortPointer = std::unique_ptr<nic::PacketPort>;

/// The switch is installed beside the drop-in.
std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) == 0) return ".";
  std::error_code code;
  const auto library = std::filesystem::canonical(info.dli_fname, code);
  return code ? "." : library.parent_path().string();
}

/// Everything reaches everyone through the switch, so a NIC that can have no links does without them.
PortPointer with_direct_links(PortPointer wire, const NicEnvironment& environment) {
  const auto folder = nic::FabricFolder::open(environment.port.target);
  if (!folder) return wire;
  auto port = drivers::DirectPort::create(
      wire,
      {.own = environment.device.mac,
       .socket_of = [in = folder.value()](const transport::wire::Mac& mac) { return in.link_socket(mac); }});
  if (port) return std::move(port.value());
  if (environment.verbose) {
    fmt::print(stderr, "urnic: no direct links to other NICs: {}\n", port.error().message);
  }
  return wire;
}

Result<PortPointer, Error> open_udp(const NicEnvironment& environment) {
  auto port = drivers::UdpPort::open({.addresses = environment.host.gids(),
                                      .interface = environment.host.index,
                                      .link_mtu = environment.device.link_mtu,
                                      .may_segment = !environment.port.is_unsegmented});
  if (!port) return port.error();
  return PortPointer(std::move(port.value()));
}

/// Null for a port that has no wire.
Result<PortPointer, Error> open_wire(const NicEnvironment& environment) {
  const nic::PortSpec& spec = environment.port;
  const std::uint16_t link_mtu = environment.device.link_mtu;
  if (spec.kind == nic::PortSpec::Kind::kLoopback) return PortPointer();
  if (spec.kind == nic::PortSpec::Kind::kUdp) return open_udp(environment);
  const drivers::DpdkOptions options{.verbose = environment.verbose};
  if (spec.kind != nic::PortSpec::Kind::kFabric) return drivers::open_dpdk_port(spec, link_mtu, options);
  const auto socket = drivers::join_fabric(spec, link_mtu, folder_of_this_library() + "/urnic_switch");
  if (!socket) return socket.error();
  const nic::PortSpec back{
      .kind = nic::PortSpec::Kind::kVhost, .side = nic::PortSpec::VhostSide::kBack, .target = socket.value()};
  auto wire = drivers::open_dpdk_port(back, link_mtu, options);
  if (!wire || spec.is_switched) return wire;
  return with_direct_links(std::move(wire.value()), environment);
}

Result<PortPointer, Error> with_faults(PortPointer wire, const std::string& text) {
  if (wire == nullptr || text.empty()) return wire;
  const auto spec = drivers::FaultSpec::parse(text);
  if (!spec) return spec.error();
  return PortPointer(std::make_unique<drivers::FaultPort>(std::move(wire), spec.value()));
}

Result<PortPointer, Error> with_recorder(PortPointer port, const NicEnvironment& environment) {
  if (environment.pcap_file.empty()) return port;
  static const nic::SteadyClock clock;  // has no state
  auto recorder = drivers::RecorderPort::create(
      environment.pcap_file, std::move(port),
      {.mac = environment.device.mac, .addresses = environment.host.gids()}, clock);
  if (!recorder) return recorder.error();
  return PortPointer(std::move(recorder.value()));
}

}  // namespace

// The engine sees the recorder first: what is recorded is what the NIC sent and got, faults of the wire and
// all.
Result<PortPointer, Error> open_port(const NicEnvironment& environment) {
  auto wire = open_wire(environment);
  if (!wire) return wire.error();
  auto faulty = with_faults(std::move(wire.value()), environment.fault);
  if (!faulty) return faulty.error();
  // What is for the host itself comes back through its own loopback.
  if (environment.device.medium == nic::Medium::kIp) {
    return with_recorder(std::move(faulty.value()), environment);
  }
  const std::size_t max_frame_bytes =
      std::size_t{environment.device.link_mtu} + transport::wire::Ethernet::kMinBytes;
  auto looped = std::make_unique<drivers::LoopbackPort>(environment.device.mac, std::move(faulty.value()),
                                                        max_frame_bytes);
  return with_recorder(std::move(looped), environment);
}

}  // namespace urnic::verbs_api
