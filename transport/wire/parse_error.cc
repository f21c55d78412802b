#include "transport/wire/parse_error.h"

#include <array>

namespace urnic::transport::wire {
namespace {

constexpr auto kParseErrorNames = std::to_array<std::string_view>({
    "truncated",
    "not_ip",
    "bad_ip_header",
    "fragment",
    "not_udp",
    "not_roce",
    "bad_udp_length",
    "bad_udp_checksum",
    "bad_version",
    "unknown_opcode",
    "too_short",
    "unexpected_payload",
    "bad_icrc",
});
static_assert(kParseErrorNames.size() == kParseErrors);

}  // namespace

std::string_view to_string(ParseError error) {
  return kParseErrorNames[to_integer(error)];
}

}  // namespace urnic::transport::wire
