// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SocketGroup: the UDP sockets of all processes of a host, at RoCE's one port.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// One socket for each slot and IP version, bound to all addresses (SO_REUSEPORT). The kernel numbers the
/// sockets of such a group in the order of their binding, and renumbers them when one is closed. So sockets
/// are opened in the order of slots and stay open as long as this lives; processes have copies. One thread at
/// a time.
class SocketGroup {
 public:
  static constexpr unsigned kMostSlots = 256;
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// Opens the sockets of slot 0 at that port. EADDRINUSE: the error says which program may have it, and the
  /// remedy. Waits so long for the port, as processes of a switch that was killed may be about to end.
  /// Otherwise the system's error.
  static Result<SocketGroup, Error> open(std::uint16_t port, std::chrono::milliseconds patience = kPatience);

  /// The same at another port that is free, which only processes of this host learn. EADDRINUSE: none is
  /// free.
  static Result<SocketGroup, Error> open_elsewhere();

  std::uint16_t port() const { return port_; }
  /// Whether other sockets had the port at first: of processes that have lost their switch.
  bool was_taken() const { return was_taken_; }

  /// Opens the sockets of the next slot; there are less than kMostSlots.
  Result<void, Error> grow();

  unsigned slots() const { return static_cast<unsigned>(ipv4_.size()); }
  bool has_ipv6() const { return has_ipv6_; }
  /// Borrowed, of a slot that is open.
  int ipv4(unsigned slot) const { return ipv4_[slot].get(); }
  /// -1 where the host has no IPv6.
  int ipv6(unsigned slot) const { return has_ipv6_ ? ipv6_[slot].get() : -1; }
  /// Drops what waits in a slot's sockets.
  void drain(unsigned slot) const;
  /// The same for a slot that no process has any more; from now on the sockets keep as little as they can.
  void lay_still(unsigned slot) const;

 private:
  explicit SocketGroup(std::uint16_t port) : port_(port) {}

  std::uint16_t port_;
  bool has_ipv6_ = true;
  bool was_taken_ = false;
  std::vector<Descriptor> ipv4_;  // by slot
  std::vector<Descriptor> ipv6_;
};

}  // namespace urnic::drivers
