// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/source_sockets.h"

#include <algorithm>

#include "drivers/udp/socket.h"

namespace urnic::drivers {

using transport::wire::Gid;

namespace {

/// Nothing is received there, but errors.
constexpr int kLeastReceiveBytes = 1;
/// A window of a few queue pairs.
constexpr int kSendBytes = 4 << 20;

}  // namespace

int SourceSockets::find(const Gid& source, std::uint16_t port) {
  ++uses_;
  auto& ways = entries_[port % kPlaces];
  const auto is_it = [&](const Entry& entry) {
    return entry.socket && entry.port == port && entry.source == source;
  };
  if (const auto found = std::ranges::find_if(ways, is_it); found != ways.end()) {
    found->used_at = uses_;
    return found->socket.get();
  }
  auto socket = open_udp_socket(source, port, addresses_.interface_of(source),
                                is_shared_ ? PortSharing::kAny : PortSharing::kNone);
  if (!socket) return -1;
  const int fd = socket.value().get();
  const bool is_ipv4 = source.is_ipv4_mapped();
  sys_setsockopt(fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_RECVERR : IPV6_RECVERR, 1);
  sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, kLeastReceiveBytes);
  sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, kSendBytes);
  Entry& oldest = *std::ranges::min_element(ways, {}, &Entry::used_at);
  oldest = Entry{.source = source, .port = port, .socket = std::move(socket.value()), .used_at = uses_};
  return fd;
}

}  // namespace urnic::drivers
