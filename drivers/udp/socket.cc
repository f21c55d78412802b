// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/socket.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace urnic::drivers {

using transport::wire::Gid;

long sys_sendmmsg(int socket, mmsghdr* messages, unsigned count) {
  return syscall(SYS_sendmmsg, socket, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

long sys_recvmmsg(int socket, mmsghdr* messages, unsigned count) {
  return syscall(SYS_recvmmsg, socket, messages, count, MSG_DONTWAIT, nullptr);
}

long sys_recvmsg(int socket, msghdr* message, int flags) {
  return syscall(SYS_recvmsg, socket, message, flags);
}

bool sys_setsockopt(int socket, int level, int option, const void* value, unsigned bytes) {
  return syscall(SYS_setsockopt, socket, level, option, value, bytes) == 0;
}

bool sys_setsockopt(int socket, int level, int option, int value) {
  return sys_setsockopt(socket, level, option, &value, sizeof value);
}

SocketAddress::SocketAddress(const Gid& address, std::uint16_t port, unsigned interface) {
  if (address.is_ipv4_mapped()) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage_);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    const auto octets = address.ipv4().octets;
    std::copy(octets.begin(), octets.end(), reinterpret_cast<std::uint8_t*>(&ipv4.sin_addr));
    bytes_ = sizeof ipv4;
    return;
  }
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage_);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  std::copy(address.octets.begin(), address.octets.end(), ipv6.sin6_addr.s6_addr);
  if (address.is_link_local() || address.is_multicast()) ipv6.sin6_scope_id = interface;
  bytes_ = sizeof ipv6;
}

Result<Descriptor, Error> open_udp_socket(const Gid& address, std::uint16_t port, unsigned interface,
                                          PortSharing sharing) {
  const bool is_ipv4 = address.is_ipv4_mapped();
  const auto failed = [&](const char* what) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format("{} a UDP socket at {} port {}: {}", what,
                                        is_ipv4 ? to_string(address.ipv4()) : to_string(address), port,
                                        std::generic_category().message(code))};
  };
  Descriptor socket(static_cast<int>(syscall(SYS_socket, is_ipv4 ? AF_INET : AF_INET6,
                                             SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP)));
  if (!socket) return failed("cannot open");
  const bool is_set_up =
      is_ipv4 ? sys_setsockopt(socket.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
              : sys_setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
                    sys_setsockopt(socket.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
                    sys_setsockopt(socket.get(), IPPROTO_IPV6, IPV6_DONTFRAG, 1);
  if (!is_set_up) return failed("cannot set up");
  const int fd = socket.get();
  const bool is_shared = (sharing == PortSharing::kNone || sys_setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
                         (sharing != PortSharing::kAny || sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, 1));
  if (!is_shared) return failed("cannot share");
  const SocketAddress bound(address, port, interface);
  if (syscall(SYS_bind, socket.get(), bound.get(), bound.bytes()) != 0) return failed("cannot bind");
  return socket;
}

}  // namespace urnic::drivers
