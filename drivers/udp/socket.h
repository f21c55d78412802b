// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UDP sockets as RoCEv2 needs them, and addresses as the kernel writes them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "drivers/descriptor.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

// System calls in place of the C library's functions of these names: librspreload replaces those, and would
// take our sockets for its own.
long sys_sendmmsg(int socket, mmsghdr* messages, unsigned count);
long sys_recvmmsg(int socket, mmsghdr* messages, unsigned count);
long sys_recvmsg(int socket, msghdr* message, int flags);
bool sys_setsockopt(int socket, int level, int option, const void* value, unsigned bytes);
bool sys_setsockopt(int socket, int level, int option, int value);

/// An IPv4 or IPv6 address with its port.
class SocketAddress {
 public:
  /// `interface` is the index of the one that link-local addresses and groups belong to. `port` in host
  /// order.
  SocketAddress(const transport::wire::Gid& address, std::uint16_t port, unsigned interface);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const { return bytes_; }

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_;
};

/// With which other sockets one may have an address and port, if they allow the same.
enum class PortSharing : std::uint8_t {
  kNone,
  kGroup,  ///< the sockets of one user's group; each datagram goes to one of them (SO_REUSEPORT)
  kAny,    ///< these, and any that are bound to a group's address, or send only (SO_REUSEADDR as well)
};

/// A UDP socket that is bound there and not connected, does not block, and never fragments: "don't fragment"
/// is set in all it sends, and the identification is 0 (udp-wire facts, C1: unconnected, IP_PMTUDISC_PROBE).
/// The error is the system's.
Result<Descriptor, Error> open_udp_socket(const transport::wire::Gid& address, std::uint16_t port,
                                          unsigned interface, PortSharing sharing = PortSharing::kNone);

}  // namespace urnic::drivers
