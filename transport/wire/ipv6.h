// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The IPv6 header.
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

/// IPv6 header, 40 bytes, which is also the layout of a GRH.
struct Ipv6 {
  static constexpr std::size_t kBytes = 40;

  std::uint8_t traffic_class = 0;    ///< DSCP and ECN
  std::uint32_t flow_label = 0;      ///< 20 bits
  std::uint16_t payload_length = 0;  ///< bytes after this header
  IpProtocol next_header = IpProtocol::kUdp;
  std::uint8_t hop_limit = 64;
  Ipv6Address source{};
  Ipv6Address destination{};

  /// Parses a packet that begins with this header. Extension headers are left to the caller: next_header then
  /// names one. Errors: kTruncated (`packet` is shorter than header and payload), kBadIpHeader (version).
  static Result<Ipv6, ParseError> parse(std::span<const std::byte> packet);
  /// The same on a header that has its default values; undefined content after an error.
  std::optional<ParseError> read(std::span<const std::byte> packet);
};

/// Writes the header to the front of `out`, which must have room, and returns Ipv6::kBytes.
std::size_t emit(const Ipv6& ipv6, std::span<std::byte> out);

}  // namespace urnic::transport::wire
