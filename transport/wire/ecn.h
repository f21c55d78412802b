// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ECN in IP headers, as networks change it (RFC 3168).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/wire/byte_order.h"

namespace urnic::transport::wire {

/// Marks a packet "congestion experienced". `ip` begins with its IPv4 header, whose checksum follows (RFC
/// 1624; a wrong one stays wrong), or with its IPv6 header.
inline void mark_congestion_experienced(std::span<std::byte> ip) {
  constexpr std::size_t kChecksumAt = 10;
  constexpr std::uint32_t kOnes = 0xffff;
  const bool is_ipv6 = (ip[0] >> 4) == std::byte{6};
  if (is_ipv6) {
    ip[1] |= std::byte{0x30};  // version, traffic class and flow label: the low two bits of the class
    return;
  }
  const std::uint16_t before = load_u16(ip, 0);
  ip[1] |= std::byte{3};
  std::uint32_t sum = (kOnes ^ load_u16(ip, kChecksumAt)) + (kOnes ^ before) + load_u16(ip, 0);
  while (sum > kOnes) sum = (sum & kOnes) + (sum >> 16);
  store_u16(ip, kChecksumAt, static_cast<std::uint16_t>(~sum));
}

}  // namespace urnic::transport::wire
