// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WireGuard: which packets from the host's sockets a NIC does not believe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Any program of a host can send to the UDP port of a NIC there, from the address that the NIC's peers have.
/// Into a link only the same user's programs write. So what a queue pair's peer sends by its link cannot come
/// by the sockets as well.
class WireGuard {
 public:
  /// See nic::PacketPort::take_only_from(). Allocates.
  void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station);

  /// For the queue pair to which this IP packet is addressed: the station from which alone it may come.
  /// Nothing for a packet that may come from anywhere.
  std::optional<transport::wire::Mac> sender_of(std::span<const std::byte> packet) const;

 private:
  std::unordered_map<std::uint32_t, transport::wire::Mac> stations_;  // by QP number
};

}  // namespace urnic::drivers
