// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The Internet checksum (RFC 1071), and the pseudo headers that UDP and ICMPv6 add to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/wire/address.h"

namespace urnic::transport::wire {

/// What an IP header says it carries. Other values than these exist on the wire.
enum class IpProtocol : std::uint8_t { kHopByHop = 0, kIgmp = 2, kUdp = 17, kBth = 27, kIcmpv6 = 58 };

/// Adds up bytes as 16-bit words in one's complement.
class InternetChecksum {
 public:
  /// Adds `bytes`. Only the last piece may have an odd length; it counts as if a zero byte followed.
  void add(std::span<const std::byte> bytes);
  /// Adds the pseudo header of an upper-layer datagram of `length` bytes (RFC 768, RFC 8200 section 8.1).
  void add_pseudo_header(const Ipv4Address& source, const Ipv4Address& destination, IpProtocol protocol,
                         std::uint32_t length);
  void add_pseudo_header(const Ipv6Address& source, const Ipv6Address& destination, IpProtocol protocol,
                         std::uint32_t length);

  /// What belongs into the checksum field, in host order, after everything was added with a zero in that
  /// field.
  std::uint16_t value() const;
  /// Whether the sum is right, after everything was added with the field as carried.
  bool is_right() const { return value() == 0; }

 private:
  void add_word(std::uint16_t host_order);

  std::uint64_t sum_ = 0;  ///< of words as they stand in memory: RFC 1071 section 2(B)
};

}  // namespace urnic::transport::wire
