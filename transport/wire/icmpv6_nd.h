// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Neighbor discovery for IPv6 (RFC 4861): which MAC has this address? See address.h for where to ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/wire/address.h"

namespace urnic::transport::wire {

/// A neighbor solicitation or advertisement, with the addresses of the IPv6 header it travels in.
struct NeighborMessage {
  /// Of the largest one that emit() writes: IPv6 header, message, one link-layer address option.
  static constexpr std::size_t kMaxBytes = 72;

  enum class Type : std::uint8_t { kSolicitation = 135, kAdvertisement = 136 };

  Type type = Type::kSolicitation;
  bool router = false;     ///< advertisement only
  bool solicited = false;  ///< advertisement only: it answers a solicitation
  bool replaces = false;   ///< advertisement only: the Override flag
  Ipv6Address source{};    ///< unspecified in the solicitations of duplicate address detection
  Ipv6Address destination{};
  Ipv6Address target{};  ///< whose MAC it asks for or tells
  /// The asker's own MAC in a solicitation (source option), the target's in an advertisement (target option).
  std::optional<Mac> link_layer_address{};

  /// Parses an IPv6 packet, header first; Ethernet padding may follow. Nothing for anything else than one of
  /// these two messages, directly after the IPv6 header, that passes the checks of RFC 4861 section 7.1: hop
  /// limit 255, checksum, code, lengths of message and options, addresses and flags that go together. Unknown
  /// options are skipped.
  static std::optional<NeighborMessage> parse(std::span<const std::byte> packet);

  friend constexpr bool operator==(const NeighborMessage&, const NeighborMessage&) = default;
};

/// Writes IPv6 header and message to the front of `out`, which must have room for kMaxBytes; returns the
/// size.
std::size_t emit(const NeighborMessage& message, std::span<std::byte> out);

}  // namespace urnic::transport::wire
