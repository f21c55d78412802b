// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/parse_error.h"

namespace urnic::transport::wire {

std::string_view to_string(ParseError error) {
  using enum ParseError;
  switch (error) {
    case kTruncated:
      return "truncated";
    case kNotIp:
      return "not_ip";
    case kBadIpHeader:
      return "bad_ip_header";
    case kFragment:
      return "fragment";
    case kNotUdp:
      return "not_udp";
    case kNotRoce:
      return "not_roce";
    case kBadUdpLength:
      return "bad_udp_length";
    case kBadUdpChecksum:
      return "bad_udp_checksum";
    case kBadVersion:
      return "bad_version";
    case kUnknownOpcode:
      return "unknown_opcode";
    case kTooShort:
      return "too_short";
    case kUnexpectedPayload:
      return "unexpected_payload";
    case kBadIcrc:
      return "bad_icrc";
  }
  return "";
}

}  // namespace urnic::transport::wire
