// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/open_port.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "drivers/af_xdp/af_xdp_port.h"
#include "drivers/bench/bench_port.h"
#include "drivers/direct/direct_port.h"
#include "drivers/fabric/join.h"
#include "drivers/fault/fault_port.h"
#include "drivers/fault/fault_spec.h"
#include "drivers/host/membership.h"
#include "drivers/loopback/loopback_port.h"
#include "drivers/pcap/recorder_port.h"
#include "drivers/udp/udp_port.h"
#include "drivers/udp/udp_probe.h"
#include "nic/clock.h"
#include "nic/diagnostics/snapshot_names.h"
#include "nic/host/fabric_folder.h"
#include "nic/host/host_files.h"
#include "nic/host/last_words_table.h"
#include "nic/host/route.h"
#include "nic/path/multicast_groups.h"
#include "nic/path/station.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/udp.h"
#include "verbs_api/config/port_opener.h"

namespace urnic::verbs_api {
namespace {

using PortPointer = std::unique_ptr<nic::PacketPort>;

constexpr const char* kPortIsAnothers =
    "UDP port 4791, RoCEv2's only one, is another user's, or the kernel's. 'urnic doctor' says whose; when "
    "that one has ended, end your programs, too, and start them again";

/// The switch is installed beside the drop-in.
std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) == 0) return ".";
  std::error_code code;
  const auto library = std::filesystem::canonical(info.dli_fname, code);
  return code ? "." : library.parent_path().string();
}

/// All frames reach all NICs by the wire, so a NIC that can have no links does without them.
PortPointer with_direct_links(PortPointer wire, drivers::DirectPort::Config links, bool verbose) {
  links.tell = [](const std::string& line) { fmt::print(stderr, "urnic: {}\n", line); };
  auto port = drivers::DirectPort::create(wire, std::move(links));
  if (port) return std::move(port.value());
  if (verbose) fmt::print(stderr, "urnic: no direct links to other NICs: {}\n", port.error().message);
  return wire;
}

/// A recorder writes down what a wire would carry, and the receiver of a frame that faults have damaged must
/// be able to notice.
bool must_have_icrc(const NicEnvironment& environment) {
  const bool is_looked_at = !environment.pcap_file.empty() || !environment.record_file.empty();
  return environment.has_icrc_always || is_looked_at || !environment.all_faults().frames.empty();
}

/// To the NICs of the same fabric.
PortPointer with_links_of_fabric(PortPointer wire, const NicEnvironment& environment) {
  const auto folder = nic::FabricFolder::open(environment.port.target);
  if (!folder) return wire;
  return with_direct_links(
      std::move(wire),
      {.own = environment.device.mac,
       .socket_of = [in = folder.value()](const transport::wire::Mac& mac) { return in.link_socket(mac); },
       .must_have_icrc = must_have_icrc(environment)},
      environment.verbose);
}

/// To the NICs of the same host.
PortPointer with_links_of_host(PortPointer wire, const drivers::Membership& membership,
                               const NicEnvironment& environment) {
  return with_direct_links(std::move(wire),
                           {.own = nic::station_of_share(membership.share().value),
                            .socket_of =
                                [name = membership.control_socket()](const transport::wire::Mac& station) {
                                  return nic::host_link_socket(name, station.octets.back());
                                },
                            .shared_address = environment.host.all.front().gid,
                            .must_have_icrc = must_have_icrc(environment)},
                           environment.verbose);
}

drivers::UdpPort::Config udp_config(const NicEnvironment& environment) {
  return {.addresses = environment.host.all,
          .link_mtu = environment.device.link_mtu,
          .may_segment = !environment.port.is_unsegmented};
}

std::string switch_program(const NicEnvironment& environment) {
  const std::string& own = environment.switch_program;
  return own.empty() ? folder_of_this_library() + "/urnic_switch" : own;
}

/// What rdma_cm asks about ways of a NIC that has the host's addresses.
void know_host(nic::OpenedPort& opened) {
  opened.routes = nic::host_route_to;
  opened.probes = [](const nic::Way& way) { return drivers::UdpProbe::send(way); };
}

/// A NIC works without; then its peers are told nothing when its process is killed.
std::unique_ptr<nic::LastWordsTable> make_last_words() {
  auto made = nic::LastWordsTable::create();
  return made ? std::move(made.value()) : nullptr;
}

/// The host's routes as far as this user's programs have the port that other hosts send to.
nic::HostRoutes routes_by(std::shared_ptr<drivers::SocketExchange> exchange) {
  return [exchange = std::move(exchange)](const nic::Way& way) -> Result<nic::HostRoute, Error> {
    const transport::wire::Gid& destination = way.destination;
    if (exchange->udp_port() == transport::wire::kRocePort) return nic::host_route_to(way);
    const auto usual = nic::host_route_to({.destination = destination, .scope = way.scope});
    const bool is_loopback = destination.is_ipv4_mapped() && destination.ipv4().octets[0] == 127;
    const bool is_own = usual && usual.value().source == destination;
    if (is_loopback || is_own || nic::is_multicast(destination)) return nic::host_route_to(way);
    return Error{
        .code = ENONET,
        .message = fmt::format("{} is another host, and this NIC reaches programs of this host alone: {}",
                               nic::address_text(destination), kPortIsAnothers)};
  };
}

/// A share of the host's NIC.
Result<nic::OpenedPort, Error> join_host(const NicEnvironment& environment) {
  auto last_words = make_last_words();
  drivers::Descriptor file(last_words != nullptr ? fcntl(last_words->file(), F_DUPFD_CLOEXEC, 0) : -1);
  using Reach = drivers::Membership::Reach;
  const auto files = nic::host_switch_files();
  if (!files) return files.error();
  auto joined = drivers::Membership::join(
      files.value(), switch_program(environment),
      environment.is_port_chosen ? Reach::kAllHosts : Reach::kThisHostAtLeast, std::move(file),
      [](const std::string& text) { fmt::print(stderr, "urnic: {}\n", text); },
      environment.port.is_each ? environment.host.all.front().interface_index : 0);
  if (!joined) return joined.error();
  drivers::Membership& membership = *joined.value();
  auto port = drivers::UdpPort::share(udp_config(environment), membership.exchange());
  if (!port) return port.error();
  nic::OpenedPort opened(with_links_of_host(std::move(port.value()), membership, environment));
  opened.numbers = membership.share();
  const std::shared_ptr<drivers::SocketExchange> exchange = membership.exchange();
  opened.host = std::move(joined.value());
  know_host(opened);
  opened.last_words = std::move(last_words);
  opened.routes = routes_by(exchange);
  if (exchange->udp_port() != transport::wire::kRocePort) {
    opened.probes = {};
    fmt::print(stderr, "urnic: your programs on this host reach each other, and no other host: {}\n",
               kPortIsAnothers);
  }
  return opened;
}

/// A wire of this NIC's own; null for a port that has none. `last_words` is a file, or -1.
Result<PortPointer, Error> open_wire(const NicEnvironment& environment, int last_words) {
  const nic::PortSpec& spec = environment.port;
  const std::uint16_t link_mtu = environment.device.link_mtu;
  if (spec.kind == nic::PortSpec::Kind::kLoopback) return PortPointer();
  if (spec.kind == nic::PortSpec::Kind::kUdp) {
    auto port = drivers::UdpPort::open(udp_config(environment));
    if (!port) return port.error();
    return PortPointer(std::move(port.value()));
  }
  if (spec.kind == nic::PortSpec::Kind::kAfXdp) {
    auto port = drivers::AfXdpPort::open(spec.target, link_mtu);
    if (!port) return port.error();
    return PortPointer(std::move(port.value()));
  }
  const drivers::DpdkOptions options{.verbose = environment.verbose};
  if (spec.kind != nic::PortSpec::Kind::kFabric) return drivers::open_dpdk_port(spec, link_mtu, options);
  const auto joined = drivers::join_fabric(spec, link_mtu, switch_program(environment), last_words);
  if (!joined) return joined.error();
  const drivers::FabricPort& port = joined.value();
  const nic::PortSpec back{
      .kind = nic::PortSpec::Kind::kVhost, .side = nic::PortSpec::VhostSide::kBack, .target = port.socket};
  auto wire = drivers::open_dpdk_port(back, link_mtu, options);
  if (!wire || spec.is_switched || port.is_switched) return wire;
  return with_links_of_fabric(std::move(wire.value()), environment);
}

const nic::Clock& clock_of(const NicEnvironment& environment) {
  static const nic::SteadyClock real;  // has no state
  if (environment.granted_clock != nullptr) return *environment.granted_clock;
  return real;
}

Result<PortPointer, Error> with_faults(PortPointer port, const NicEnvironment& environment) {
  const std::string text = environment.all_faults().frames;
  if (text.empty()) return port;
  const auto spec = drivers::FaultSpec::parse(text);
  if (!spec) return spec.error();
  drivers::FaultPort::Tell tell;
  if (!environment.faults.frames.empty()) {
    tell = [](const std::string& line) { fmt::print(stderr, "urnic: {}\n", line); };
  }
  return PortPointer(
      std::make_unique<drivers::FaultPort>(std::move(port), spec.value(), clock_of(environment), tell));
}

/// Creates a recorder for `file`, or for one with the process's number where another NIC of this run has
/// that.
template <typename Create>
Result<std::unique_ptr<drivers::RecorderPort>, Error> create_recorder(const std::string& file,
                                                                      const NicEnvironment& environment,
                                                                      Create create) {
  auto recorder = create(file);
  const bool is_shared = environment.port.kind == nic::PortSpec::Kind::kHost;
  if (recorder || recorder.error().code != EBUSY || !is_shared) return recorder;
  return create(fmt::format("{}.{}", file, getpid()));
}

/// For people who read the recording.
drivers::PcapngWriter::Names names_of_this_process(const NicEnvironment& environment) {
  return {.program = fmt::format("urnic {}", URNIC_VERSION),
          .interface = environment.device.name,
          .description = fmt::format("{} (process {})", program_invocation_short_name, getpid())};
}

Result<void, Error> add_recorders(nic::OpenedPort& opened, const NicEnvironment& environment) {
  const nic::Clock& clock = clock_of(environment);
  const drivers::RecorderPort::Own own{
      .mac = environment.device.mac, .addresses = environment.host.gids(), .numbers = opened.numbers};
  if (!environment.pcap_file.empty()) {
    auto recorder = create_recorder(environment.pcap_file, environment, [&](const std::string& file) {
      return drivers::RecorderPort::create(file, std::move(opened.port), own, clock);
    });
    if (!recorder) return recorder.error();
    opened.port = std::move(recorder.value());
  }
  if (!environment.record_file.empty()) {
    auto recorder = create_recorder(environment.record_file, environment, [&](const std::string& file) {
      return drivers::RecorderPort::create_with_notes(file, std::move(opened.port), own, clock,
                                                      names_of_this_process(environment));
    });
    if (!recorder) return recorder.error();
    opened.journal = recorder.value()->journal();
    opened.port = std::move(recorder.value());
  }
  return success();
}

/// Of a wire with a test bench, which grants the time.
Result<nic::OpenedPort, Error> open_bench(const NicEnvironment& environment) {
  const nic::DeviceConfig& device = environment.device;
  auto link = drivers::BenchLink::connect(
      environment.port.target,
      {.own = {.mac = device.mac,
               .link_mtu = device.link_mtu,
               .ipv4 = device.ipv4 ? device.ipv4->address : transport::wire::Ipv4Address{}},
       .tell = [](const std::string& line) { fmt::print(stderr, "urnic: {}\n", line); }},
      *environment.granted_clock);
  if (!link) return link.error();
  nic::GrantedTime* const time = link.value().get();
  nic::OpenedPort opened(std::make_unique<drivers::BenchPort>(std::move(link.value())));
  opened.time = time;
  return opened;
}

Result<nic::OpenedPort, Error> open_unwrapped(const NicEnvironment& environment) {
  if (environment.port.kind == nic::PortSpec::Kind::kHost) return join_host(environment);
  if (environment.port.kind == nic::PortSpec::Kind::kBench) return open_bench(environment);
  std::unique_ptr<nic::LastWordsTable> last_words;
  if (environment.port.kind == nic::PortSpec::Kind::kFabric) last_words = make_last_words();
  auto wire = open_wire(environment, last_words != nullptr ? last_words->file() : -1);
  if (!wire) return wire.error();
  nic::OpenedPort opened(std::move(wire.value()));
  opened.last_words = std::move(last_words);
  if (environment.port.kind == nic::PortSpec::Kind::kUdp) know_host(opened);
  return opened;
}

/// What is for the NIC itself comes back: of one that has the host's addresses, through the host's loopback.
PortPointer with_hairpin(PortPointer port, const NicEnvironment& environment) {
  if (environment.device.medium == nic::Medium::kIp) return port;
  const std::size_t max_frame_bytes =
      std::size_t{environment.device.link_mtu} + transport::wire::Ethernet::kMinBytes;
  return std::make_unique<drivers::LoopbackPort>(environment.device.mac, std::move(port), max_frame_bytes);
}

}  // namespace

// The engine sees the recorder first: what is recorded is what the NIC sent and got, faults of the wire and
// all. What the NIC sends to itself has them, too.
Result<nic::OpenedPort, Error> open_port(const NicEnvironment& environment) {
  auto opened = open_unwrapped(environment);
  if (!opened) return opened.error();
  auto faulty = with_faults(with_hairpin(std::move(opened.value().port), environment), environment);
  if (!faulty) return faulty.error();
  opened.value().port = std::move(faulty.value());
  if (auto recorded = add_recorders(opened.value(), environment); !recorded) return recorded.error();
  return opened;
}

bool may_open_port_after_fork(const NicEnvironment& environment) {
  switch (environment.port.kind) {
    case nic::PortSpec::Kind::kHost:
    case nic::PortSpec::Kind::kUdp:
    case nic::PortSpec::Kind::kAfXdp:
    case nic::PortSpec::Kind::kBench:
    case nic::PortSpec::Kind::kLoopback:
      return true;
    case nic::PortSpec::Kind::kFabric:
    case nic::PortSpec::Kind::kVhost:
    case nic::PortSpec::Kind::kAfPacket:
    case nic::PortSpec::Kind::kPci:
      return false;
  }
  return false;
}

}  // namespace urnic::verbs_api
