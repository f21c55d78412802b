// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/host_addresses.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <limits>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "nic/host/interface_mtu.h"
#include "nic/process/may_wait.h"

namespace urnic::nic {
namespace {

using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using State = InterfaceAddress::State;

/// How long a kernel asks (one question and an answer time of a second are usual), and some more.
constexpr auto kTentativePatience = std::chrono::milliseconds(2500);
constexpr auto kTentativePause = std::chrono::milliseconds(20);

/// 127.0.0.2 belongs to the loopback as 127.0.0.1 does, though the kernel does not list it.
bool is_in_network_of(const InterfaceAddress& found, const Gid& address) {
  if (!found.is_on_loopback || !found.gid.is_ipv4_mapped() || !address.is_ipv4_mapped()) return false;
  const std::size_t whole_octets = found.prefix_length / 8;
  return std::equal(address.octets.begin() + 12,
                    address.octets.begin() + 12 + static_cast<std::ptrdiff_t>(whole_octets),
                    found.gid.octets.begin() + 12);
}

const InterfaceAddress* find_one(const std::vector<InterfaceAddress>& all, const Gid& address) {
  const auto exact = std::ranges::find(all, address, &InterfaceAddress::gid);
  if (exact != all.end()) return &*exact;
  const auto near = std::ranges::find_if(
      all, [&](const InterfaceAddress& found) { return is_in_network_of(found, address); });
  return near == all.end() ? nullptr : &*near;
}

/// Reads again while one that `concerns` is about may still become ready.
template <typename Concerns>
Result<HostInterfaces, Error> read_when_ready(AddressWait wait, Concerns concerns) {
  assert_may_wait();
  const auto give_up = std::chrono::steady_clock::now() + kTentativePatience;
  for (;;) {
    auto host = read_host_interfaces();
    if (!host || wait == AddressWait::kNone) return host;
    const bool will_be_ready =
        std::ranges::any_of(host.value().addresses, [&](const InterfaceAddress& address) {
          return address.state == State::kTentative && address.is_up && address.is_running &&
                 concerns(address);
        });
    if (!will_be_ready || std::chrono::steady_clock::now() > give_up) return host;
    std::this_thread::sleep_for(kTentativePause);
  }
}

bool has_default_route(const HostInterfaces& host, const InterfaceAddress& address) {
  return std::ranges::find(host.with_default_route, address.interface) != host.with_default_route.end();
}

/// Of addresses that are ready.
std::string first_interface(const HostInterfaces& host, const std::vector<InterfaceAddress>& ready) {
  const auto is_usual = [&](const InterfaceAddress& address) { return address.interface == host.usual; };
  if (std::ranges::any_of(ready, is_usual)) return host.usual;
  const auto rank = [&](const InterfaceAddress& address) {
    const bool is_outside = !address.is_on_loopback && !address.gid.is_link_local();
    return std::tuple(!is_outside, !has_default_route(host, address), !address.is_running);
  };
  return std::ranges::min_element(ready, {}, rank)->interface;
}

HostAddress to_host_address(const InterfaceAddress& found) {
  return {.gid = found.gid,
          .interface = found.interface,
          .interface_index = found.interface_index,
          .mac = found.mac};
}

void take(HostAddresses& host, const InterfaceAddress& found) {
  host.all.push_back(to_host_address(found));
  if (host.interface.empty()) host.interface = found.interface;
  if (found.interface != host.interface) return;
  if (found.gid.is_ipv4_mapped()) {
    if (!host.ipv4) {
      host.ipv4 = Ipv4Interface{.address = found.gid.ipv4(), .prefix_length = found.prefix_length};
    }
  } else if (!found.gid.is_link_local() && !host.ipv6) {
    host.ipv6 = Ipv6Interface{.address = found.gid, .prefix_length = found.prefix_length};
  }
}

Error no_address() {
  return {.code = ENETDOWN,
          .message =
              "no network interface of this host is up and has an address (ip link set lo up); --port "
              "fabric needs none"};
}

Error not_an_address_of_the_host(std::string_view address, bool is_not_ready) {
  return {
      .code = EADDRNOTAVAIL,
      .message =
          is_not_ready
              ? fmt::format(
                    "address {} of this host cannot be used yet, or another host has it, as 'ip address' "
                    "says (tentative, dadfailed)",
                    address)
              : fmt::format("no network interface of this host is up and has the address {}; 'ip address' "
                            "lists them",
                            address)};
}

std::optional<Gid> parse(std::string_view text) {
  if (const auto ipv4 = Ipv4Address::parse(text)) return Gid::from_ipv4(*ipv4);
  return Ipv6Address::parse(text);
}

Result<HostAddresses, Error> find_named(std::string_view name, AddressWait wait) {
  const auto wanted = parse(name);
  if (!wanted) {
    return Error{.code = EINVAL, .message = fmt::format("'{}' is no IPv4 or IPv6 address", name)};
  }
  const auto host =
      read_when_ready(wait, [&](const InterfaceAddress& address) { return address.gid == *wanted; });
  if (!host) return host.error();
  const InterfaceAddress* const near = find_one(host.value().addresses, *wanted);
  if (near == nullptr || !near->is_up || near->state != State::kReady) {
    return not_an_address_of_the_host(name, near != nullptr && near->is_up);
  }
  InterfaceAddress found = *near;
  found.gid = *wanted;
  HostAddresses addresses{.all = {}, .interface = {}, .ipv4 = {}, .ipv6 = {}, .mtu = found.mtu};
  take(addresses, found);
  return addresses;
}

}  // namespace

std::vector<Gid> HostAddresses::gids() const {
  std::vector<Gid> gids;
  for (const HostAddress& address : all) gids.push_back(address.gid);
  return gids;
}

std::optional<HostAddresses> arrange(const HostInterfaces& host) {
  std::vector<InterfaceAddress> ready = host.addresses;
  std::erase_if(ready, [](const InterfaceAddress& address) {
    return !address.is_up || address.state != State::kReady;
  });
  if (ready.empty()) return std::nullopt;
  const std::string first = first_interface(host, ready);
  std::set<std::string> with_more_than_link_local;
  for (const InterfaceAddress& address : ready) {
    if (!address.gid.is_link_local()) with_more_than_link_local.insert(address.interface);
  }
  const auto rank = [&](const InterfaceAddress& address) {
    if (address.interface == first) return 0;
    if (address.is_on_loopback) return 3;
    if (!with_more_than_link_local.contains(address.interface)) return 4;
    return has_default_route(host, address) ? 1 : 2;
  };
  std::ranges::stable_sort(ready, {}, [&](const InterfaceAddress& address) {
    return std::pair(rank(address), std::string_view(address.interface));
  });
  HostAddresses addresses;
  addresses.mtu = std::numeric_limits<std::uint16_t>::max();
  for (const InterfaceAddress& address : ready) {
    take(addresses, address);
    if (rank(address) <= 1) addresses.mtu = std::min(addresses.mtu, address.mtu);
  }
  return addresses;
}

unsigned interface_index_of(const Gid& address) {
  const auto host = read_host_interfaces();
  const InterfaceAddress* const found = host ? find_one(host.value().addresses, address) : nullptr;
  return found != nullptr ? found->interface_index : 0;
}

std::vector<HostAddress> addresses_there(const HostInterfaces& host) {
  std::vector<HostAddress> all;
  if (auto arranged = arrange(host)) all = std::move(arranged->all);
  for (const InterfaceAddress& address : host.addresses) {
    if (!address.is_up && address.state == State::kReady) all.push_back(to_host_address(address));
  }
  return all;
}

std::vector<HostAddress> addresses_on(const HostInterfaces& host, const std::string& interface) {
  std::vector<HostAddress> all = addresses_there(host);
  std::erase_if(all, [&interface](const HostAddress& address) { return address.interface != interface; });
  return all;
}

// An interface that has no address left is not among them, but the kernel still knows it.
bool has_carrier(const HostInterfaces& host, const std::string& interface) {
  const auto found = std::ranges::find(host.addresses, interface, &InterfaceAddress::interface);
  return found != host.addresses.end() ? found->is_up && found->is_running : interface_is_running(interface);
}

Result<HostAddresses, Error> find_host_addresses(std::string_view address, AddressWait wait) {
  if (!address.empty()) return find_named(address, wait);
  auto all = find_all_host_addresses(wait);
  if (!all) return all;
  HostAddresses& host = all.value();
  std::erase_if(host.all, [&](const HostAddress& each) { return each.interface != host.interface; });
  return all;
}

Result<HostAddresses, Error> find_all_host_addresses(AddressWait wait) {
  const auto host = read_when_ready(wait, [](const InterfaceAddress&) { return true; });
  if (!host) return host.error();
  auto addresses = arrange(host.value());
  if (!addresses) return no_address();
  return std::move(*addresses);
}

namespace {

/// The addresses of one interface.
HostAddresses only_on(const HostInterfaces& host, const std::string& interface) {
  HostInterfaces one = host;
  std::erase_if(one.addresses,
                [&interface](const InterfaceAddress& address) { return address.interface != interface; });
  return *arrange(one);
}

}  // namespace

Result<std::vector<HostAddresses>, Error> find_addresses_of_each_interface(AddressWait wait) {
  const auto host = read_when_ready(wait, [](const InterfaceAddress&) { return true; });
  if (!host) return host.error();
  const auto arranged = arrange(host.value());
  if (!arranged) return no_address();
  std::vector<HostAddresses> interfaces;
  std::set<std::string> seen;
  for (const HostAddress& address : arranged->all) {
    if (!seen.insert(address.interface).second) continue;
    interfaces.push_back(only_on(host.value(), address.interface));
  }
  std::erase_if(interfaces, [&](const HostAddresses& each) {
    const bool is_loopback = each.ipv4 && each.ipv4->address.octets[0] == 127;
    const bool is_usual = !is_loopback && (each.ipv4 || each.ipv6);
    return !is_usual && &each != &interfaces.front();
  });
  return interfaces;
}

}  // namespace urnic::nic
