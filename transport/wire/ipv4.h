// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The IPv4 header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/result.h"
#include "transport/wire/address.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/parse_error.h"

namespace urnic::transport::wire {

/// IPv4 header, 20 bytes and options. The checksum is not a field: it is verified and written.
struct Ipv4 {
  static constexpr std::size_t kMinBytes = 20;
  static constexpr std::size_t kMaxBytes = 60;

  std::uint8_t tos = 0;            ///< DSCP and ECN
  std::uint16_t total_length = 0;  ///< bytes of header and payload
  std::uint16_t identification = 0;
  bool reserved_flag = false;
  bool dont_fragment = true;  ///< as rxe sends it (fact 10)
  bool more_fragments = false;
  std::uint16_t fragment_offset = 0;  ///< 13 bits, in units of 8 bytes
  std::uint8_t ttl = 64;
  IpProtocol protocol = IpProtocol::kUdp;
  Ipv4Address source{};
  Ipv4Address destination{};
  std::span<const std::byte> options{};  ///< a multiple of 4 bytes, at most 40; points into the parsed bytes

  /// Parses a packet that begins with this header. Errors: kTruncated (`packet` is shorter than the header or
  /// the total length), kBadIpHeader (version, header length, total length, checksum).
  static Result<Ipv4, ParseError> parse(std::span<const std::byte> packet);
  /// The same on a header that has its default values; undefined content after an error.
  std::optional<ParseError> read(std::span<const std::byte> packet);

  std::size_t header_bytes() const { return kMinBytes + options.size(); }
  bool is_fragment() const { return more_fragments || fragment_offset != 0; }
};

/// The checksum field, in host order, for a whole IPv4 header whose field holds zero.
std::uint16_t ipv4_header_checksum(std::span<const std::byte> header);

/// Writes the header, checksum included, to the front of `out`, which must have room; returns header_bytes().
std::size_t emit(const Ipv4& ipv4, std::span<std::byte> out);

}  // namespace urnic::transport::wire
