// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ARP for IPv4 over Ethernet (RFC 826): which MAC has this address?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/wire/address.h"

namespace urnic::transport::wire {

/// An ARP packet, 28 bytes after an Ethernet header of EtherType::kArp.
struct Arp {
  static constexpr std::size_t kBytes = 28;

  enum class Operation : std::uint16_t { kRequest = 1, kReply = 2 };

  Operation operation = Operation::kRequest;
  Mac sender_mac{};
  Ipv4Address sender_ip{};
  Mac target_mac{};  ///< says nothing in a request
  Ipv4Address target_ip{};

  /// Parses what follows the Ethernet header; padding may come after it. Nothing for anything else than a
  /// request or a reply for IPv4 over Ethernet, whole.
  static std::optional<Arp> parse(std::span<const std::byte> payload);

  friend constexpr bool operator==(const Arp&, const Arp&) = default;
};

/// Writes the packet to the front of `out`, which must have room, and returns Arp::kBytes.
std::size_t emit(const Arp& arp, std::span<std::byte> out);

}  // namespace urnic::transport::wire
