// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/route.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include "transport/wire/udp.h"

namespace urnic::nic {

using transport::wire::Gid;
using transport::wire::Ipv4Address;

namespace {

/// Both kinds of address as the kernel has them.
struct SystemAddress {
  sockaddr_in6 ipv6{};
  sockaddr_in ipv4{};
  bool is_ipv4 = false;

  void* get() { return is_ipv4 ? static_cast<void*>(&ipv4) : static_cast<void*>(&ipv6); }
  socklen_t bytes() const { return is_ipv4 ? sizeof ipv4 : sizeof ipv6; }
  int mtu_level() const { return is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6; }
  int mtu_option() const { return is_ipv4 ? IP_MTU : IPV6_MTU; }
};

SystemAddress to_system(const Gid& gid, std::uint32_t scope, std::uint16_t port) {
  SystemAddress address;
  address.is_ipv4 = gid.is_ipv4_mapped();
  address.ipv4.sin_family = AF_INET;
  address.ipv4.sin_port = htons(port);
  address.ipv6.sin6_family = AF_INET6;
  address.ipv6.sin6_port = htons(port);
  address.ipv6.sin6_scope_id = scope;
  if (address.is_ipv4) {
    std::memcpy(&address.ipv4.sin_addr, gid.ipv4().octets.data(), Ipv4Address::kBytes);
  } else {
    std::memcpy(&address.ipv6.sin6_addr, gid.octets.data(), gid.octets.size());
  }
  return address;
}

Gid to_gid(const SystemAddress& address) {
  Gid gid;
  if (!address.is_ipv4) {
    std::memcpy(gid.octets.data(), &address.ipv6.sin6_addr, gid.octets.size());
    return gid;
  }
  Ipv4Address ipv4;
  std::memcpy(ipv4.octets.data(), &address.ipv4.sin_addr, Ipv4Address::kBytes);
  return Gid::from_ipv4(ipv4);
}

}  // namespace

// By system calls: librspreload replaces the C library's functions of these names. To connect a UDP socket
// sends nothing.
Result<HostRoute, Error> host_route_to(const Way& way) {
  constexpr std::uint16_t kAnyPort = 0;
  SystemAddress source = to_system(way.source, way.scope, kAnyPort);
  SystemAddress address = to_system(way.destination, way.scope, transport::wire::kRocePort);
  socklen_t bytes = address.bytes();
  const bool has_source = !way.source.is_unspecified();
  int mtu = 0;
  socklen_t mtu_bytes = sizeof mtu;
  const long fd = syscall(SYS_socket, address.is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool has_route =
      fd >= 0 && (!has_source || syscall(SYS_bind, fd, source.get(), source.bytes()) == 0) &&
      syscall(SYS_connect, fd, address.get(), bytes) == 0 &&
      syscall(SYS_getsockopt, fd, address.mtu_level(), address.mtu_option(), &mtu, &mtu_bytes) == 0 &&
      syscall(SYS_getsockname, fd, address.get(), &bytes) == 0;
  const int code = errno;
  if (fd >= 0) syscall(SYS_close, fd);
  if (has_route) {
    constexpr int kLargestPacket = std::numeric_limits<std::uint16_t>::max();
    return HostRoute{.source = to_gid(address),
                     .mtu = static_cast<std::uint16_t>(std::min(mtu, kLargestPacket))};
  }
  const Gid& destination = way.destination;
  const std::string to = address.is_ipv4 ? to_string(destination.ipv4()) : to_string(destination);
  return Error{.code = code,
               .message = fmt::format("no way to {}: {}", to, std::generic_category().message(code))};
}

}  // namespace urnic::nic
