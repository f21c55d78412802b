// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "nic/host/fabric_folder.h"
#include "nic/host/host_addresses.h"
#include "nic/host/interface_mtu.h"
#include "nic/host/lock_file.h"
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

Result<PortChoice, Error> parse_port(std::string_view text) {
  auto port = PortSpec::parse(text);
  if (!port) return port.error();
  const bool no_slot_named = text.find(',') == std::string_view::npos;
  const bool has_path =
      port.value().kind == PortSpec::Kind::kVhost || port.value().kind == PortSpec::Kind::kBench;
  if (!has_path) {
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
  const bool is_wire = port.value().kind == PortSpec::Kind::kVhost;
  return PortChoice{.port = port.value(), .any_slot = is_wire && no_slot_named};
}

/// What a NIC has of its own on a fabric; one that shares the host's addresses has none of it.
constexpr const char* kVariablesOfOwnNic[] = {"URNIC_IP", "URNIC_IP6", "URNIC_MAC", "URNIC_VLAN"};

const char* default_port(const Variables& variables) {
  const auto is_set = [&variables](const char* name) { return variables.text(name).has_value(); };
  return std::ranges::any_of(kVariablesOfOwnNic, is_set) ? "fabric" : "host";
}

}  // namespace

Result<PortChoice, Error> read_port(const Variables& variables) {
  const auto choice = read(variables, "URNIC_PORT", parse_port);
  if (!choice) return choice.error();
  return choice.value() ? *choice.value() : parse_port(default_port(variables));
}

nic::AddressWait wait_for_addresses(const Variables& variables) {
  return variables.text(kRunVariable) ? nic::AddressWait::kNone : nic::AddressWait::kUntilReady;
}

namespace {

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

}  // namespace

Result<void, Error> read_identity(const Variables& variables, NicEnvironment& environment) {
  nic::DeviceConfig& device = environment.device;
  const auto choice = read_port(variables);
  if (!choice) return choice.error();
  environment.port = choice.value().port;
  environment.is_port_chosen = variables.text("URNIC_PORT") && !is_chosen(variables, "URNIC_PORT");
  if (environment.port.has_host_addresses()) {
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
                               environment.port.kind != PortSpec::Kind::kBench &&
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

}  // namespace urnic::verbs_api
