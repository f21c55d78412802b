// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The UDP header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/result.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/parse_error.h"

namespace urnic::transport::wire {

/// The destination port that makes a UDP datagram RoCEv2 (fact 6).
inline constexpr std::uint16_t kRocePort = 4791;

/// UDP header, 8 bytes.
struct Udp {
  static constexpr std::size_t kBytes = 8;

  std::uint16_t source_port = 0;  ///< never validated (fact 9)
  std::uint16_t destination_port = kRocePort;
  std::uint16_t length = 0;    ///< bytes of header and payload
  std::uint16_t checksum = 0;  ///< as carried; 0 is none, which is what we send (fact 10)

  /// Parses the payload of an IP packet. Errors: kTruncated, kBadUdpLength (not the length of `ip_payload`).
  static Result<Udp, ParseError> parse(std::span<const std::byte> ip_payload);
  /// The same on a header that has its default values; undefined content after an error.
  std::optional<ParseError> read(std::span<const std::byte> ip_payload);
};

/// Writes the header to the front of `out`, which must have room, and returns Udp::kBytes.
std::size_t emit(const Udp& udp, std::span<std::byte> out);

/// Whether the checksum in a whole UDP datagram, header first, is zero or right.
bool udp_checksum_ok(const Ipv4& ip, std::span<const std::byte> datagram);
bool udp_checksum_ok(const Ipv6& ip, std::span<const std::byte> datagram);

}  // namespace urnic::transport::wire
