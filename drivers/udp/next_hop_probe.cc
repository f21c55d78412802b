// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/next_hop_probe.h"

#include <cstdint>

#include "drivers/udp/socket.h"

namespace urnic::drivers {
namespace {

constexpr std::uint16_t kAnyPort = 0;
constexpr std::uint16_t kDiscardPort = 9;

}  // namespace

void probe_next_hop(const transport::wire::Gid& source, const transport::wire::Gid& destination,
                    unsigned interface) {
  const auto socket = open_udp_socket(source, kAnyPort, interface);
  if (!socket) return;
  const int fd = socket.value().get();
  const bool ends_there = source.is_ipv4_mapped() ? sys_setsockopt(fd, IPPROTO_IP, IP_TTL, 1)
                                                  : sys_setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 1);
  if (!ends_there) return;
  const SocketAddress to(destination, kDiscardPort, interface);
  mmsghdr message{};
  message.msg_hdr.msg_name = const_cast<sockaddr*>(to.get());
  message.msg_hdr.msg_namelen = to.bytes();
  sys_sendmmsg(fd, &message, 1);
}

}  // namespace urnic::drivers
