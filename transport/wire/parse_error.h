// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ParseError: why bytes are not a frame or packet of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "transport/result.h"
#include "transport/types.h"

namespace urnic::transport::wire {

/// Why bytes are not a frame or packet of ours. Each has a counter of its name in the device.
enum class ParseError : std::uint8_t {
  kTruncated,          ///< shorter than its own headers say
  kNotIp,              ///< an EtherType that is neither IPv4, IPv6 nor RoCE v1
  kBadIpHeader,        ///< version, header length, total length, or checksum
  kFragment,           ///< an IP fragment; RoCEv2 never fragments
  kNotUdp,             ///< another protocol
  kNotRoce,            ///< another UDP port, or something else than a BTH after a GRH
  kBadUdpLength,       ///< UDP length against IP length
  kBadUdpChecksum,     ///< neither zero nor right (fact 10)
  kBadVersion,         ///< BTH TVer is not 0
  kUnknownOpcode,      ///< no row in the opcode table
  kTooShort,           ///< less than this opcode's headers, padding and ICRC (fact 4)
  kUnexpectedPayload,  ///< payload after an opcode that has none
  kBadIcrc,            ///< found by the caller of Frame::icrc_ok(); no parser here returns it
};

/// How many reasons there are, for arrays indexed by to_integer(ParseError).
inline constexpr std::size_t kParseErrors = to_integer(ParseError::kBadIcrc) + 1u;

/// A counter's name for `error`, of static storage: "truncated", "bad_udp_length".
std::string_view to_string(ParseError error);

/// Parses by `read`, a member function "std::optional<ParseError> read(bytes)" of `Header`, in the place
/// where the result is returned: these structs are written byte by byte, and to copy them right afterwards
/// costs more than to parse them (the processor waits for its store buffer).
template <typename Header>
Result<Header, ParseError> parse_in_place(std::span<const std::byte> bytes) {
  Result<Header, ParseError> result{std::in_place_type<Header>};
  if (const std::optional<ParseError> error = result.value().read(bytes)) result = *error;
  return result;
}

}  // namespace urnic::transport::wire
