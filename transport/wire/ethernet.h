// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The Ethernet header, with any VLAN tags in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/result.h"
#include "transport/wire/address.h"
#include "transport/wire/parse_error.h"

namespace urnic::transport::wire {

/// What follows the Ethernet header. Other values than these exist on the wire.
enum class EtherType : std::uint16_t {
  kIpv4 = 0x0800,
  kArp = 0x0806,
  kVlan = 0x8100,
  kIpv6 = 0x86dd,
  kServiceVlan = 0x88a8,
  kRoceV1 = 0x8915,
  kOldServiceVlan = 0x9100,
};

/// One IEEE 802.1Q tag: the EtherType that announces it, then priority, DEI and VLAN id as they stand on the
/// wire.
struct VlanTag {
  static constexpr std::size_t kBytes = 4;

  EtherType type = EtherType::kVlan;
  std::uint16_t control = 0;

  friend constexpr bool operator==(const VlanTag&, const VlanTag&) = default;
};

/// Ethernet header, 14 bytes and 4 more per VLAN tag.
struct Ethernet {
  static constexpr std::size_t kMinBytes = 14;
  /// More tags are not looked through: ether_type then says that another tag follows.
  static constexpr std::size_t kMaxVlanTags = 4;

  Mac destination{};
  Mac source{};
  std::array<VlanTag, kMaxVlanTags> vlan_tags{};  ///< outermost first
  std::uint8_t vlan_tag_count = 0;                ///< at most kMaxVlanTags
  EtherType ether_type{};                         ///< after the tags; below 0x0600 it is an 802.3 length

  /// Parses the front of a frame. Error: kTruncated.
  static Result<Ethernet, ParseError> parse(std::span<const std::byte> frame);
  /// The same on a header that has its default values; undefined content after an error.
  std::optional<ParseError> read(std::span<const std::byte> frame);

  constexpr std::size_t header_bytes() const { return kMinBytes + vlan_tag_count * VlanTag::kBytes; }
};

/// Writes the header to the front of `out`, which must have room, and returns its size, header_bytes().
std::size_t emit(const Ethernet& ethernet, std::span<std::byte> out);

}  // namespace urnic::transport::wire
