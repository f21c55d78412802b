#include "verbs_api/config/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "nic/congestion/choice_text.h"
#include "nic/host/fabric_folder.h"
#include "nic/host/host_addresses.h"
#include "nic/host/interface_mtu.h"
#include "nic/host/lock_file.h"
#include "nic/host/random_bits.h"
#include "nic/recovery_text.h"
#include "verbs_api/config/environment_values.h"
#include "verbs_api/config/variables.h"

namespace urnic::verbs_api {
namespace {

using nic::PortSpec;

/// Carries an RDMA MTU of 4096; more would be of no use.
constexpr std::uint16_t kDefaultLinkMtu = 4200;
constexpr std::uint16_t kEthernetMtu = 1500;

/// A socket's buffer holds some 400 kB as Linux counts (net.core.rmem_max), packets and what they lie in:
/// what comes while the receiver does something else must not overflow it.
constexpr std::uint32_t kWindowBytesOverSockets = 256 << 10;

/// Carries the smallest RDMA MTU, 256, after all headers and a VLAN tag.
constexpr std::uint16_t kMinTaggedLinkMtu = 340;

Error invalid(const Variables& variables, const char* name, std::string_view why) {
  return Error{.code = EINVAL,
               .message = fmt::format("{}='{}': {}", variables.full_name(name),
                                      variables.text(name).value_or(""), why)};
}

/// The variable as `parse` understands it, nothing when it is absent, or an error with its name.
template <typename Value>
Result<std::optional<Value>, Error> read(const Variables& variables, const char* name,
                                         Result<Value, Error> (*parse)(std::string_view)) {
  const auto text = variables.text(name);
  if (!text) return std::optional<Value>();
  const auto value = parse(*text);
  if (!value) return invalid(variables, name, value.error().message);
  return std::optional<Value>(value.value());
}

Result<bool, Error> parse_flag(std::string_view text) {
  if (text != "0" && text != "1") return Error{.code = EINVAL, .message = "not 0 or 1"};
  return text == "1";
}

/// Whether every packet has one.
Result<bool, Error> parse_icrc(std::string_view text) {
  if (text != "wires" && text != "always") {
    return Error{.code = EINVAL, .message = "not 'wires' or 'always'"};
  }
  return text == "always";
}

Result<nic::ProgressMode, Error> parse_progress(std::string_view text) {
  if (text != "hybrid" && text != "thread") {
    return Error{.code = EINVAL, .message = "not 'hybrid' or 'thread'"};
  }
  return text == "hybrid" ? nic::ProgressMode::kHybrid : nic::ProgressMode::kThread;
}

Result<nic::Type2Windows, Error> parse_type_2_windows(std::string_view text) {
  if (text != "2A" && text != "2B") return Error{.code = EINVAL, .message = "not '2A' or '2B'"};
  return text == "2A" ? nic::Type2Windows::k2A : nic::Type2Windows::k2B;
}

/// A port, and whether it is for us to say which end of a wire, or which port of a fabric, it is.
struct PortChoice {
  PortSpec port;
  bool any_slot = false;
};

Result<PortChoice, Error> parse_port(std::string_view text) {
  auto port = PortSpec::parse(text);
  if (!port) return port.error();
  const bool no_slot_named = text.find(',') == std::string_view::npos;
  if (port.value().kind != PortSpec::Kind::kVhost) {
    const bool is_fabric = port.value().kind == PortSpec::Kind::kFabric;
    return PortChoice{.port = port.value(), .any_slot = is_fabric && !port.value().is_slot_named};
  }
  // The program may change its folder before it opens the port. The path becomes longer; is it still short
  // enough?
  std::error_code code;
  port.value().target = std::filesystem::absolute(port.value().target, code).string();
  port = code ? Error{.code = code.value(), .message = code.message()}
              : PortSpec::parse(port.value().to_string());
  if (!port) return port.error();
  return PortChoice{.port = port.value(), .any_slot = no_slot_named};
}

/// What a NIC has of its own on a fabric; one that shares the host's addresses has none of it.
constexpr const char* kVariablesOfOwnNic[] = {"URNIC_IP", "URNIC_IP6", "URNIC_MAC", "URNIC_VLAN"};

const char* default_port(const Variables& variables) {
  const auto is_set = [&variables](const char* name) { return variables.text(name).has_value(); };
  return std::ranges::any_of(kVariablesOfOwnNic, is_set) ? "fabric" : "host";
}

Result<PortChoice, Error> read_port(const Variables& variables) {
  const auto choice = read(variables, "URNIC_PORT", parse_port);
  if (!choice) return choice.error();
  return choice.value() ? *choice.value() : parse_port(default_port(variables));
}

bool has_host_addresses(const PortSpec& port) {
  return port.kind == PortSpec::Kind::kUdp || port.kind == PortSpec::Kind::kHost;
}

/// `urnic run` has waited already.
nic::AddressWait wait_for_addresses(const Variables& variables) {
  return variables.text(kRunVariable) ? nic::AddressWait::kNone : nic::AddressWait::kUntilReady;
}

/// The addresses of the host that this device has.
Result<nic::HostAddresses, Error> find_host(const NicEnvironment& environment, nic::AddressWait wait) {
  const PortSpec& port = environment.port;
  if (port.kind == PortSpec::Kind::kUdp) return nic::find_host_addresses(port.target, wait);
  if (!port.is_each) return nic::find_all_host_addresses(wait);
  auto interfaces = nic::find_addresses_of_each_interface(wait);
  if (!interfaces) return interfaces.error();
  if (environment.number < interfaces.value().size()) return interfaces.value()[environment.number];
  return Error{
      .code = ENODEV,
      .message = fmt::format("{} had an interface of this host, which is gone", environment.device.name)};
}

/// The NIC has addresses of the host, and no others.
Result<void, Error> share_host_addresses(const Variables& variables, NicEnvironment& environment) {
  nic::DeviceConfig& device = environment.device;
  auto host = find_host(environment, wait_for_addresses(variables));
  if (!host) return host.error();
  const auto differs = [](const auto& wanted, const auto& own) {
    return wanted && (!own || wanted->address != own->address);
  };
  if (differs(device.ipv4, host.value().ipv4) || differs(device.ipv6, host.value().ipv6)) {
    return Error{.code = EINVAL,
                 .message =
                     "with --port host or udp the NIC has addresses of this host: name one after the port "
                     "(udp:ADDRESS), or none, and leave --ip and --ip6 (URNIC_IP, URNIC_IP6) away"};
  }
  device.medium = nic::Medium::kIp;
  device.ipv4 = host.value().ipv4;
  device.ipv6 = host.value().ipv6;
  device.host_addresses = host.value().all;
  device.usual_way_mtu = host.value().mtu;
  device.window_bytes = kWindowBytesOverSockets;
  environment.host = std::move(host.value());
  return success();
}

/// What the medium carries, as far as it is known by now. Where the NIC has the host's addresses, the routes
/// say it for each way.
Result<std::optional<std::uint16_t>, Error> carried_mtu(const NicEnvironment& environment) {
  const PortSpec& port = environment.port;
  if (port.is_interface()) {
    const auto carried = nic::interface_mtu(port.target);
    if (!carried) return carried.error();
    return std::optional(carried.value());
  }
  if (port.kind == PortSpec::Kind::kFabric) {
    const auto folder = nic::FabricFolder::open(port.target);
    if (!folder) return folder.error();
    if (const auto running = nic::running_switch(folder.value().files_of_switch(0))) {
      return std::optional(running->link_mtu);
    }
  }
  return std::optional<std::uint16_t>();
}

Result<std::uint16_t, Error> read_link_mtu(const Variables& variables, const NicEnvironment& environment) {
  constexpr const char* kName = "URNIC_MTU";
  const auto chosen = read(variables, kName, parse_link_mtu);
  if (!chosen) return chosen.error();
  const PortSpec& port = environment.port;
  const auto carried = carried_mtu(environment);
  if (!carried) return carried.error();
  const std::uint16_t most = carried.value().value_or(std::numeric_limits<std::uint16_t>::max());
  if (chosen.value() && *chosen.value() > most) {
    return invalid(
        variables, kName,
        fmt::format("{} {} carries no more than {}",
                    port.kind == PortSpec::Kind::kFabric ? "fabric" : "interface", port.target, most));
  }
  // The user knows what the network of a card carries; every Ethernet carries this.
  const std::uint16_t usual = port.kind == PortSpec::Kind::kPci ? kEthernetMtu : kDefaultLinkMtu;
  return chosen.value().value_or(std::min(most, usual));
}

template <typename Interface>
auto address_of(const std::optional<Interface>& interface) {
  return interface ? std::optional(interface->address) : std::nullopt;
}

/// Whether `urnic run` chose the value of this variable, because the user left it open.
bool is_chosen(const Variables& variables, const char* name) {
  const auto value = variables.text(name);
  const auto chosen = variables.text(kChosenVariable);
  const std::string entry = fmt::format(" {}={} ", variables.full_name(name), value.value_or(""));
  return value && chosen && fmt::format(" {} ", *chosen).find(entry) != std::string::npos;
}

/// Another process uses the NIC of this `urnic run`: what that left open is open again.
void become_another_nic(const Variables& variables, NicEnvironment& environment,
                        nic::Lease::Request& request) {
  if (is_chosen(variables, "URNIC_IP")) {
    environment.device.ipv4.reset();
    request.ipv4.reset();
  }
  if (is_chosen(variables, "URNIC_MAC")) request.mac.reset();
  request.any_slot = request.any_slot || is_chosen(variables, "URNIC_PORT");
  for (std::string* const file : {&environment.pcap_file, &environment.record_file}) {
    if (!file->empty()) *file += fmt::format(".{}", getpid());
  }
}

Error no_second_nic(const Error& error) {
  return Error{.code = error.code,
               .message = fmt::format(
                   "another process of the same 'urnic run' has its NIC, and this one cannot have one of its "
                   "own: {}; give a number of a port, --ip, --ip6 and --mac only to a program of one process",
                   error.message)};
}

/// Port, lease, and what follows from them: link MTU, a default address, a default MAC.
Result<void, Error> read_identity(const Variables& variables, NicEnvironment& environment) {
  nic::DeviceConfig& device = environment.device;
  const auto choice = read_port(variables);
  if (!choice) return choice.error();
  environment.port = choice.value().port;
  environment.is_port_chosen = variables.text("URNIC_PORT") && !is_chosen(variables, "URNIC_PORT");
  if (has_host_addresses(environment.port)) {
    if (auto shared = share_host_addresses(variables, environment); !shared) return shared.error();
  }
  const auto link_mtu = read_link_mtu(variables, environment);
  if (!link_mtu) return link_mtu.error();
  device.link_mtu = link_mtu.value();
  const auto vlan = read(variables, "URNIC_VLAN", parse_vlan);
  if (!vlan) return vlan.error();
  device.vlan = vlan.value().value_or(0);
  if (device.vlan != 0 && device.medium == nic::Medium::kIp) {
    return invalid(variables, "URNIC_VLAN",
                   "the port carries IP packets, and the host puts them on its links; name an address on a "
                   "VLAN interface");
  }
  if (device.vlan != 0 && device.link_mtu < kMinTaggedLinkMtu) {
    return invalid(variables, "URNIC_VLAN",
                   fmt::format("with a VLAN's tag the link MTU must be {} at least, and is {}",
                               kMinTaggedLinkMtu, device.link_mtu));
  }
  const auto mac = read(variables, "URNIC_MAC", parse_mac);
  if (!mac) return mac.error();
  if (environment.port.leads_to_a_network() && !device.ipv4 && !device.ipv6) {
    return Error{
        .code = EINVAL,
        .message = fmt::format("others are on {} {}, so the NIC needs an address that is free there: give "
                               "--ip (or URNIC_IP), such as 10.0.0.1/24",
                               environment.port.is_interface() ? "interface" : "the network of PCI card",
                               environment.port.target)};
  }

  const auto outer = read(variables, "URNIC_LEASE_FD", parse_descriptor);
  if (!outer) return outer.error();
  nic::Lease::Request request{.port = environment.port,
                              .any_slot = choice.value().any_slot,
                              .ipv4 = address_of(device.ipv4),
                              .ipv6 = address_of(device.ipv6),
                              .mac = mac.value()};
  if (!request.ipv4) environment.left_open.push_back("URNIC_IP");
  if (!request.mac) environment.left_open.push_back("URNIC_MAC");
  if (request.any_slot || !environment.is_port_chosen) environment.left_open.push_back("URNIC_PORT");
  std::optional<nic::Lease> lease;
  const bool is_inside_a_run = outer.value() && environment.port.kind != PortSpec::Kind::kLoopback &&
                               environment.port.kind != PortSpec::Kind::kHost;
  if (is_inside_a_run) {
    lease = nic::Lease::adopt(request, *outer.value());
    if (!lease) become_another_nic(variables, environment, request);
  }
  if (!lease) {
    auto taken = nic::Lease::take(request);
    if (!taken) return is_inside_a_run ? no_second_nic(taken.error()) : taken.error();
    lease = std::move(taken.value());
  }
  environment.lease = std::move(*lease);
  environment.port = environment.lease.port();
  device.port_name = environment.port.to_string();
  if (!device.ipv4 && environment.lease.ipv4()) {
    device.ipv4 = nic::Ipv4Interface{.address = *environment.lease.ipv4(), .prefix_length = 24};
  }
  device.mac = request.mac.value_or(nic::mac_for(address_of(device.ipv4), address_of(device.ipv6)));
  return success();
}

}  // namespace

namespace {

/// Two devices cannot write one file: where both were given the same, the name of the further one tells.
std::string file_of_device(const Variables& variables, const char* name) {
  const std::string file(variables.text(name).value_or(""));
  const bool is_shared = variables.device() > 0 && variables.full_name(name) == name;
  return is_shared && !file.empty() ? fmt::format("{}.urnic{}", file, variables.device()) : file;
}

/// Calls are the process's, whatever device they are about.
Result<void, Error> check_faults(const Variables& variables, const FaultList& faults) {
  constexpr const char* kName = "URNIC_FAULT";
  const bool is_own = variables.device() > 0 && variables.full_name(kName) != kName;
  if (!is_own || !faults.has_any_of_calls()) return success();
  return invalid(variables, kName,
                 "faults of calls (verb:, async:) count for all devices: give them in URNIC_FAULT");
}

Result<NicEnvironment, Error> read_device(const Variables& variables) {
  NicEnvironment environment;
  environment.pcap_file = file_of_device(variables, "URNIC_PCAP");
  environment.record_file = file_of_device(variables, "URNIC_RECORD");
  const auto faults = read(variables, "URNIC_FAULT", FaultList::parse);
  if (!faults) return faults.error();
  environment.faults = faults.value().value_or(FaultList{});
  if (const auto fine = check_faults(variables, environment.faults); !fine) return fine.error();
  const auto icrc = read(variables, "URNIC_ICRC", parse_icrc);
  if (!icrc) return icrc.error();
  environment.has_icrc_always = icrc.value().value_or(false);
  const auto verbose = read(variables, "URNIC_VERBOSE", parse_flag);
  if (!verbose) return verbose.error();
  environment.verbose = verbose.value().value_or(false);

  nic::DeviceConfig& device = environment.device;
  environment.number = variables.device();
  device.name = fmt::format("urnic{}", environment.number);
  environment.paths_folder = variables.text("URNIC_PATHS").value_or("");
  const auto explain = read(variables, "URNIC_EXPLAIN", parse_flag);
  if (!explain) return explain.error();
  device.explain = explain.value().value_or(false);
  const auto seed = read(variables, "URNIC_SEED", parse_seed);
  if (!seed) return seed.error();
  device.seed = seed.value() ? *seed.value() : nic::random_bits();
  const auto progress = read(variables, "URNIC_PROGRESS", parse_progress);
  if (!progress) return progress.error();
  device.progress = progress.value().value_or(nic::ProgressMode::kHybrid);
  const auto processors = read(variables, "URNIC_CPUS", parse_processors);
  if (!processors) return processors.error();
  environment.processors = processors.value().value_or(std::vector<unsigned>{});
  const auto windows = read(variables, "URNIC_MW_TYPE_2", parse_type_2_windows);
  if (!windows) return windows.error();
  device.type_2_windows = windows.value().value_or(nic::Type2Windows::k2B);
  const auto congestion = read(variables, "URNIC_CC", nic::parse_congestion);
  if (!congestion) return congestion.error();
  if (congestion.value()) {
    device.congestion = congestion.value()->choice;
    device.congestion_notifications = congestion.value()->notifications;
  }
  const auto recovery = read(variables, "URNIC_RECOVERY", nic::parse_recovery);
  if (!recovery) return recovery.error();
  device.recovery = recovery.value().value_or(device.recovery);
  const auto ipv4 = read(variables, "URNIC_IP", parse_ipv4_interface);
  if (!ipv4) return ipv4.error();
  device.ipv4 = ipv4.value();
  const auto ipv6 = read(variables, "URNIC_IP6", parse_ipv6_interface);
  if (!ipv6) return ipv6.error();
  device.ipv6 = ipv6.value();

  if (const auto identity = read_identity(variables, environment); !identity) return identity.error();
  return environment;
}

/// A port that two NICs of a process cannot have both.
bool is_for_one_nic(const PortSpec& port) {
  using Kind = PortSpec::Kind;
  const bool has_all_addresses = port.kind == Kind::kHost && !port.is_each;
  return has_all_addresses || port.kind == Kind::kUdp || port.kind == Kind::kPci || port.kind == Kind::kAfXdp;
}

Error no_such_devices(unsigned count, const PortSpec& port) {
  const bool is_host = port.kind == PortSpec::Kind::kHost || port.kind == PortSpec::Kind::kUdp;
  return {.code = EINVAL,
          .message =
              fmt::format("URNIC_DEVICES='{}': the port {} is for one NIC alone; {}", count, port.to_string(),
                          is_host ? "use --port host,each, which makes one for each interface, or --port "
                                    "fabric"
                                  : "give each device a port of its own (URNIC_PORT_1 and so on)")};
}

/// How many devices the process has: what the user says, or one for each interface of the host.
Result<unsigned, Error> count_devices(const Variables& variables) {
  const auto wanted = read(variables, "URNIC_DEVICES", parse_devices);
  if (!wanted) return wanted.error();
  const auto choice = read_port(variables);
  if (!choice) return choice.error();
  const PortSpec& port = choice.value().port;
  if (!port.is_each) return wanted.value().value_or(1);
  const auto interfaces = nic::find_addresses_of_each_interface(wait_for_addresses(variables));
  if (!interfaces) return interfaces.error();
  const auto most = std::min<std::size_t>(interfaces.value().size(), kMaxDevices);
  if (!wanted.value()) return static_cast<unsigned>(most);
  if (*wanted.value() <= most) return *wanted.value();
  return invalid(variables, "URNIC_DEVICES",
                 fmt::format("this host has {} interfaces with addresses, and {} makes one device for each",
                             most, port.to_string()));
}

/// Two devices cannot have a port that is for one.
Result<void, Error> check_ports(unsigned count) {
  std::vector<PortSpec> ports;
  for (unsigned device = 0; device < count; ++device) {
    const auto choice = read_port(Variables(device));
    if (!choice) return choice.error();
    const PortSpec& port = choice.value().port;
    const bool is_twice = std::ranges::any_of(ports, [&port](const PortSpec& other) {
      return other.kind == port.kind && other.target == port.target;
    });
    if (is_twice && is_for_one_nic(port)) return no_such_devices(count, port);
    ports.push_back(port);
  }
  return success();
}

}  // namespace

Result<std::vector<NicEnvironment>, Error> read_environments() {
  const Variables plain(0);
  const auto count = count_devices(plain);
  if (!count) return count.error();
  if (const auto checked = check_ports(count.value()); !checked) return checked.error();
  std::vector<NicEnvironment> environments;
  for (unsigned device = 0; device < count.value(); ++device) {
    auto environment = read_device(Variables(device));
    if (!environment) return environment.error();
    environment.value().device.number = device;
    environment.value().device.devices = count.value();
    environments.push_back(std::move(environment).value());
  }
  return environments;
}

}  // namespace urnic::verbs_api
