// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FrameFields: what switches look at, read once per frame; and the mark that they leave in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/wire/address.h"

namespace urnic::network {

/// The two low bits of IPv4's TOS and IPv6's traffic class.
enum class Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

struct FrameFields {
  std::uint64_t destination = 0;  ///< number_of() its MAC
  std::uint64_t flow = 0;   ///< hash of addresses, protocol and ports of IP; of MACs and EtherType otherwise
  std::uint16_t ip_at = 0;  ///< where the IP header begins; 0: there is none
  bool is_ipv6 = false;
  std::uint8_t dscp = 0;  ///< 0 without IP
  Ecn ecn = Ecn::kNotEct;
  bool is_group = false;        ///< multicast or broadcast
  bool is_link_local = false;   ///< 01:80:c2:00:00:0x, which bridges do not forward
  bool is_mac_control = false;  ///< 01:80:c2:00:00:01 and EtherType 0x8808: pause frames
};

/// The octets as a number, the first one highest.
constexpr std::uint64_t number_of(const transport::wire::Mac& mac) {
  std::uint64_t number = 0;
  for (const std::uint8_t octet : mac.octets) number = number << 8 | octet;
  return number;
}

/// Nothing for bytes that are shorter than their Ethernet header. VLAN tags are looked through. An IP header
/// that is cut off, or has a wrong version or length, is none; its checksum is not looked at.
std::optional<FrameFields> read_fields(std::span<const std::byte> frame);

/// Sets ECN to CE. The IPv4 header checksum changes by what the header has changed, so that a wrong one stays
/// wrong. `fields` are `frame`'s, and have an IP header.
void mark_congestion(std::span<std::byte> frame, FrameFields& fields);

}  // namespace urnic::network
