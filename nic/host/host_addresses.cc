#include "nic/host/host_addresses.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <ios>
#include <limits>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "nic/host/interface_mtu.h"
#include "nic/host/route.h"
#include "nic/may_wait.h"

namespace urnic::nic {
namespace {

using transport::wire::Gid;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;

/// How long a kernel asks (one question and an answer time of a second are usual), and some more.
constexpr auto kTentativePatience = std::chrono::milliseconds(2500);
constexpr auto kTentativePause = std::chrono::milliseconds(20);

/// No host has it (RFC 5737): the default route leads there.
constexpr Ipv4Address kSomewhere{{192, 0, 2, 1}};

/// One address of one interface.
struct Found {
  std::string interface;
  unsigned flags = 0;
  Gid gid;
  std::uint8_t prefix_length = 0;  ///< of an IPv4 address in bits of that

  bool is_on_loopback() const { return (flags & IFF_LOOPBACK) != 0; }
};

std::uint8_t ones_in(const void* mask, std::size_t bytes) {
  unsigned ones = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    ones += static_cast<unsigned>(std::popcount(static_cast<const unsigned char*>(mask)[i]));
  }
  return static_cast<std::uint8_t>(ones);
}

/// Of all interfaces that are up.
Result<std::vector<Found>, Error> all_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("cannot list the host's addresses: {}",
                                        std::generic_category().message(code))};
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  std::vector<Found> all;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    Found found{.interface = one->ifa_name, .flags = one->ifa_flags, .gid = {}};
    if (one->ifa_addr->sa_family == AF_INET) {
      Ipv4Address address;
      std::memcpy(address.octets.data(), &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr,
                  Ipv4Address::kBytes);
      found.gid = Gid::from_ipv4(address);
      found.prefix_length =
          ones_in(&reinterpret_cast<const sockaddr_in*>(one->ifa_netmask)->sin_addr, Ipv4Address::kBytes);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(found.gid.octets.data(), &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr,
                  Ipv6Address::kBytes);
      found.prefix_length =
          ones_in(&reinterpret_cast<const sockaddr_in6*>(one->ifa_netmask)->sin6_addr, Ipv6Address::kBytes);
    } else {
      continue;
    }
    all.push_back(std::move(found));
  }
  return all;
}

/// 127.0.0.2 belongs to the loopback as 127.0.0.1 does, though the kernel does not list it.
bool is_in_network_of(const Found& found, const Gid& address) {
  if (!found.is_on_loopback() || !found.gid.is_ipv4_mapped() || !address.is_ipv4_mapped()) return false;
  const std::size_t whole_octets = found.prefix_length / 8;
  return std::equal(address.octets.begin() + 12,
                    address.octets.begin() + 12 + static_cast<std::ptrdiff_t>(whole_octets),
                    found.gid.octets.begin() + 12);
}

/// Whether the kernel still asks whether another host has one of the IPv6 addresses of that interface: for a second
/// or two after it came up. No program can send from it meanwhile. Lines are "fe80000000000000021b21fffe000001 02 40 20
/// c0     eth0": address, interface, prefix length, scope and flags in hex, name.
bool has_tentative_address(const std::string& interface) {
  constexpr unsigned kTentative = IFA_F_TENTATIVE;
  std::ifstream lines("/proc/net/if_inet6");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, index, prefix_length, scope, name;
    unsigned flags = 0;
    words >> address >> index >> prefix_length >> scope >> std::hex >> flags >> name;
    if (name == interface && (flags & kTentative) != 0) return true;
  }
  return false;
}

void wait_for_addresses(const std::string& interface) {
  assert_may_wait();
  const auto give_up = std::chrono::steady_clock::now() + kTentativePatience;
  while (has_tentative_address(interface) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kTentativePause);
  }
}

void take(HostAddresses& host, const Found& found) {
  host.all.push_back({.gid = found.gid,
                      .interface = found.interface,
                      .interface_index = if_nametoindex(found.interface.c_str())});
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

/// Once for each interface.
Result<void, Error> look_at_interfaces(HostAddresses& host, const std::string& loopback) {
  std::string looked_at;
  host.mtu = std::numeric_limits<std::uint16_t>::max();
  for (const HostAddress& address : host.all) {
    if (std::exchange(looked_at, address.interface) == address.interface) continue;
    wait_for_addresses(address.interface);
    if (address.interface == loopback && host.interface != loopback) continue;
    const auto mtu = interface_mtu(address.interface);
    if (!mtu) return failure(mtu.error());
    host.mtu = std::min(host.mtu, mtu.value());
  }
  return success();
}

const Found* find_one(const std::vector<Found>& all, const Gid& address) {
  const auto exact = std::ranges::find(all, address, &Found::gid);
  if (exact != all.end()) return &*exact;
  const auto near =
      std::ranges::find_if(all, [&](const Found& found) { return is_in_network_of(found, address); });
  return near == all.end() ? nullptr : &*near;
}

const Found* find_usual(const std::vector<Found>& all) {
  if (const auto own = host_route_to({.destination = Gid::from_ipv4(kSomewhere)})) {
    if (const Found* const found = find_one(all, own.value().source)) return found;
  }
  const auto is_outside = [](const Found& found) {
    return !found.is_on_loopback() && !found.gid.is_link_local();
  };
  if (const auto found = std::ranges::find_if(all, is_outside); found != all.end()) return &*found;
  return all.empty() ? nullptr : &all.front();
}

Error no_address() {
  return {.code = ENETDOWN,
          .message =
              "no network interface of this host is up and has an address (ip link set lo up); --port "
              "fabric needs none"};
}

std::optional<Gid> parse(std::string_view text) {
  if (const auto ipv4 = Ipv4Address::parse(text)) return Gid::from_ipv4(*ipv4);
  return Ipv6Address::parse(text);
}

}  // namespace

std::vector<Gid> HostAddresses::gids() const {
  std::vector<Gid> gids;
  for (const HostAddress& address : all) gids.push_back(address.gid);
  return gids;
}

Result<HostAddresses, Error> find_host_addresses(std::string_view address) {
  const auto all = all_addresses();
  if (!all) return all.error();
  HostAddresses host;
  if (address.empty()) {
    const Found* const usual = find_usual(all.value());
    if (usual == nullptr) return no_address();
    for (const Found& found : all.value()) {
      if (found.interface == usual->interface) take(host, found);
    }
  } else {
    const auto wanted = parse(address);
    if (!wanted) {
      return Error{.code = EINVAL, .message = fmt::format("'{}' is no IPv4 or IPv6 address", address)};
    }
    const Found* const near = find_one(all.value(), *wanted);
    if (near == nullptr) {
      return Error{
          .code = EADDRNOTAVAIL,
          .message = fmt::format(
              "no network interface of this host is up and has the address {}; 'ip address' lists them",
              address)};
    }
    Found found = *near;
    found.gid = *wanted;
    take(host, found);
  }
  if (auto looked = look_at_interfaces(host, ""); !looked) return looked.error();
  return host;
}

Result<HostAddresses, Error> find_all_host_addresses() {
  auto all = all_addresses();
  if (!all) return all.error();
  const Found* const usual = find_usual(all.value());
  if (usual == nullptr) return no_address();
  const auto rank = [first = usual->interface](const Found& found) {
    if (found.interface == first) return 0;
    return found.is_on_loopback() ? 2 : 1;
  };
  std::ranges::stable_sort(all.value(), {}, [&](const Found& found) {
    return std::pair(rank(found), std::string_view(found.interface));
  });
  HostAddresses host;
  std::string loopback;
  for (const Found& found : all.value()) {
    take(host, found);
    if (found.is_on_loopback()) loopback = found.interface;
  }
  if (auto looked = look_at_interfaces(host, loopback); !looked) return looked.error();
  return host;
}

}  // namespace urnic::nic
