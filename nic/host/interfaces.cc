// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/interfaces.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "nic/host/interface_mtu.h"
#include "nic/host/route.h"
#include "nic/process/descriptor.h"

namespace urnic::nic {
namespace {

using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

/// No host has them (RFC 5737, RFC 3849): the default routes lead there.
constexpr const char* kSomewhereInIpv4 = "192.0.2.1";
constexpr const char* kSomewhereInIpv6 = "2001:db8::1";

std::uint8_t ones_in(const void* mask, std::size_t bytes) {
  unsigned ones = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    ones += static_cast<unsigned>(std::popcount(static_cast<const unsigned char*>(mask)[i]));
  }
  return static_cast<std::uint8_t>(ones);
}

std::string text_of(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<std::uint32_t> hex_number(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size();
  return is_number ? std::optional(value) : std::nullopt;
}

/// 32 hex digits.
std::optional<Gid> address_in_hex(const std::string& digits) {
  Gid gid;
  if (digits.size() != 2 * gid.octets.size()) return std::nullopt;
  for (std::size_t i = 0; i < gid.octets.size(); ++i) {
    const auto octet = hex_number(std::string_view(digits).substr(2 * i, 2));
    if (!octet) return std::nullopt;
    gid.octets[i] = static_cast<std::uint8_t>(*octet);
  }
  return gid;
}

/// With an optimistic address a program may send (RFC 4429).
InterfaceAddress::State state_of(unsigned flags) {
  if ((flags & IFA_F_DADFAILED) != 0) return InterfaceAddress::State::kFailed;
  const bool is_tentative = (flags & IFA_F_TENTATIVE) != 0 && (flags & IFA_F_OPTIMISTIC) == 0;
  return is_tentative ? InterfaceAddress::State::kTentative : InterfaceAddress::State::kReady;
}

std::optional<InterfaceAddress> read_address(const ifaddrs& one) {
  if (one.ifa_addr == nullptr || one.ifa_netmask == nullptr) {
    return std::nullopt;
  }
  InterfaceAddress found{.interface = one.ifa_name,
                         .interface_index = if_nametoindex(one.ifa_name),
                         .gid = {},
                         .is_on_loopback = (one.ifa_flags & IFF_LOOPBACK) != 0,
                         .is_up = (one.ifa_flags & IFF_UP) != 0,
                         .is_running = (one.ifa_flags & IFF_RUNNING) != 0};
  if (one.ifa_addr->sa_family == AF_INET) {
    Ipv4Address address;
    std::memcpy(address.octets.data(), &reinterpret_cast<const sockaddr_in*>(one.ifa_addr)->sin_addr,
                Ipv4Address::kBytes);
    found.gid = Gid::from_ipv4(address);
    found.prefix_length =
        ones_in(&reinterpret_cast<const sockaddr_in*>(one.ifa_netmask)->sin_addr, Ipv4Address::kBytes);
    return found;
  }
  if (one.ifa_addr->sa_family != AF_INET6) return std::nullopt;
  std::memcpy(found.gid.octets.data(), &reinterpret_cast<const sockaddr_in6*>(one.ifa_addr)->sin6_addr,
              Ipv6Address::kBytes);
  found.prefix_length =
      ones_in(&reinterpret_cast<const sockaddr_in6*>(one.ifa_netmask)->sin6_addr, Ipv6Address::kBytes);
  return found;
}

/// Of an interface of that name; zero where it has none of six octets.
Mac mac_of(const ifaddrs* first, std::string_view name) {
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_PACKET || one->ifa_name != name) continue;
    const auto& link = *reinterpret_cast<const sockaddr_ll*>(one->ifa_addr);
    Mac mac;
    if (link.sll_halen == mac.octets.size()) std::memcpy(mac.octets.data(), link.sll_addr, mac.octets.size());
    return mac;
  }
  return {};
}

/// IPv4's default route counts before IPv6's.
std::string usual_interface(const std::vector<InterfaceAddress>& addresses) {
  for (const char* const somewhere : {kSomewhereInIpv4, kSomewhereInIpv6}) {
    const auto ipv4 = Ipv4Address::parse(somewhere);
    const auto way =
        host_route_to({.destination = ipv4 ? Gid::from_ipv4(*ipv4) : *Ipv6Address::parse(somewhere)});
    if (!way) continue;
    const auto found = std::ranges::find(addresses, way.value().source, &InterfaceAddress::gid);
    if (found != addresses.end()) return found->interface;
  }
  return "";
}

}  // namespace

// "fe80000000000000021b21fffe000001 02 40 20 c0     eth0": address, interface, prefix length, scope and flags
// in hex, name.
std::vector<AddressState> address_states_of(const std::string& if_inet6) {
  std::vector<AddressState> states;
  std::istringstream lines(if_inet6);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, index, prefix_length, scope, flags, name;
    words >> address >> index >> prefix_length >> scope >> flags >> name;
    const auto gid = address_in_hex(address);
    const auto bits = hex_number(flags);
    if (gid && bits && !name.empty()) {
      states.push_back({.interface = name, .gid = *gid, .state = state_of(*bits)});
    }
  }
  return states;
}

// "eth0 00000000 0102A8C0 0003 0 0 100 00000000 0 0 0": interface, destination, gateway, flags, three
// numbers, mask, all in hex. "00...00 00 00...00 00 fe80...01 00000400 00000001 00000000 00000003     eth0":
// destination and source with their prefix lengths, next hop, metric, counters, flags, interface. The
// loopback has one that refuses everything.
std::vector<std::string> default_routes_of(const std::string& route, const std::string& ipv6_route) {
  constexpr std::uint32_t kReject = 0x0200;  // RTF_REJECT
  std::vector<std::string> interfaces;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(interfaces, name) == interfaces.end()) interfaces.push_back(name);
  };
  std::istringstream lines(route);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, destination, gateway, flags, references, use, metric, mask;
    words >> name >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    const bool leads_everywhere = hex_number(destination) == 0u && hex_number(mask) == 0u;
    if (leads_everywhere && (hex_number(flags).value_or(kReject) & kReject) == 0) add(name);
  }
  std::istringstream ipv6_lines(ipv6_route);
  for (std::string line; std::getline(ipv6_lines, line);) {
    std::istringstream words(line);
    std::string destination, length, source, source_length, hop, metric, references, use, flags, name;
    words >> destination >> length >> source >> source_length >> hop >> metric >> references >> use >>
        flags >> name;
    const bool leads_everywhere = hex_number(length) == 0u && !name.empty();
    if (leads_everywhere && (hex_number(flags).value_or(kReject) & kReject) == 0) add(name);
  }
  return interfaces;
}

Result<HostInterfaces, Error> read_host_interfaces() {
  const ForkPause pause;  // getifaddrs() and if_nametoindex() have sockets
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("cannot list the host's addresses: {}",
                                        std::generic_category().message(code))};
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  const auto states = address_states_of(text_of("/proc/net/if_inet6"));
  HostInterfaces host;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    auto found = read_address(*one);
    if (!found) continue;
    const auto state = std::ranges::find_if(states, [&](const AddressState& each) {
      return each.gid == found->gid && each.interface == found->interface;
    });
    if (state != states.end()) found->state = state->state;
    found->mac = mac_of(first, found->interface);
    const auto known = std::ranges::find(host.addresses, found->interface, &InterfaceAddress::interface);
    if (known != host.addresses.end()) {
      found->mtu = known->mtu;
    } else if (const auto mtu = interface_mtu(found->interface)) {
      found->mtu = mtu.value();
    } else {
      continue;  // it has just gone
    }
    host.addresses.push_back(std::move(*found));
  }
  host.with_default_route = default_routes_of(text_of("/proc/net/route"), text_of("/proc/net/ipv6_route"));
  host.usual = usual_interface(host.addresses);
  return host;
}

}  // namespace urnic::nic
