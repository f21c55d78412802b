// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RssHash: the number by which frames are spread over work queues (receive side scaling).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/raw/flow_match.h"
#include "transport/types.h"

namespace urnic::nic {

/// Fields of a frame's headers that can be hashed; a set of bits.
enum class HashFields : std::uint32_t {
  kNone = 0,
  kSourceIpv4 = 1 << 0,
  kDestinationIpv4 = 1 << 1,
  kSourceIpv6 = 1 << 2,
  kDestinationIpv6 = 1 << 3,
  kSourceTcpPort = 1 << 4,
  kDestinationTcpPort = 1 << 5,
  kSourceUdpPort = 1 << 6,
  kDestinationUdpPort = 1 << 7,
};

constexpr HashFields operator|(HashFields a, HashFields b) {
  return static_cast<HashFields>(transport::to_integer(a) | transport::to_integer(b));
}
constexpr bool contains(HashFields set, HashFields field) {
  return (transport::to_integer(set) & transport::to_integer(field)) != 0;
}

/// Long enough for two IPv6 addresses and two ports.
using ToeplitzKey = std::array<std::byte, 40>;

/// The Toeplitz hash as Microsoft's "Introduction to Receive Side Scaling" defines it; at most 36 bytes of
/// input.
std::uint32_t toeplitz_hash(const ToeplitzKey& key, std::span<const std::byte> input);

/// Hashes the named fields that a frame has, in Microsoft's order: source address, destination address,
/// source port, destination port. A frame that has none of them hashes to 0.
class RssHash {
 public:
  RssHash() = default;
  RssHash(const ToeplitzKey& key, HashFields fields) : key_(key), fields_(fields) {}

  std::uint32_t of(const FlowHeaders& headers) const;

 private:
  ToeplitzKey key_{};
  HashFields fields_ = HashFields::kNone;
};

}  // namespace urnic::nic
