// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/ip.h"

#include <algorithm>

// Places are from RFC 791 and 8200.
namespace urnic::check {
namespace {

/// How the header of an IPv6 extension says its length.
enum class LengthIn : std::uint8_t {
  kEights,   ///< in units of 8 bytes, without the first 8
  kFours,    ///< in units of 4 bytes, without the first 8
  kFragment  ///< it is the fragment header, of 8 bytes
};
struct Extension {
  std::uint8_t number;
  LengthIn length;
};
constexpr Extension kExtensions[] = {
    {0, LengthIn::kEights},     // hop-by-hop options
    {43, LengthIn::kEights},    // routing
    {44, LengthIn::kFragment},  // fragment
    {51, LengthIn::kFours},     // authentication (RFC 4302)
    {60, LengthIn::kEights},    // destination options
    {135, LengthIn::kEights},   // mobility
};
constexpr int kMostExtensions = 16;
constexpr std::size_t kExtensionUnit = 8;

const Extension* extension_of(std::uint8_t number) {
  const auto* const found = std::find_if(std::begin(kExtensions), std::end(kExtensions),
                                         [number](const Extension& one) { return one.number == number; });
  return found == std::end(kExtensions) ? nullptr : found;
}

std::size_t length_of(const Extension& extension, std::uint8_t length) {
  switch (extension.length) {
    case LengthIn::kEights:
      return kExtensionUnit * (length + std::size_t{1});
    case LengthIn::kFours:
      return 4 * (length + std::size_t{2});
    case LengthIn::kFragment:
      break;
  }
  return kExtensionUnit;
}

void take_payload(Datagram& datagram, ByteView bytes) {
  datagram.header = bytes.first(datagram.header_bytes);
  const ByteView rest = bytes.subspan(datagram.header_bytes);
  datagram.payload = rest.first(std::min(rest.size(), datagram.payload_bytes));
}

std::optional<Datagram> ipv4_datagram(ByteView bytes) {
  constexpr unsigned kMoreFragments = 0x2000;
  constexpr unsigned kOffset = 0x1fff;
  if (bytes.size() < kIpv4MinBytes) return std::nullopt;
  const std::size_t header_bytes = (load_u8(bytes, 0) & 0xfu) * 4u;
  if (header_bytes < kIpv4MinBytes || bytes.size() < header_bytes) return std::nullopt;
  const unsigned fragment = load_u16(bytes, 6);
  const std::size_t length = load_u16(bytes, 2);
  Datagram datagram{.protocol = load_u8(bytes, 9),
                    .header_bytes = header_bytes,
                    .payload_bytes = length - std::min(length, header_bytes),
                    .is_fragment = (fragment & (kMoreFragments | kOffset)) != 0,
                    .more_follow = (fragment & kMoreFragments) != 0,
                    .offset = (fragment & kOffset) * 8u,
                    .identification = load_u16(bytes, 4),
                    .protocol_at = 9};
  take_payload(datagram, bytes);
  return datagram;
}

std::optional<Datagram> ipv6_datagram(ByteView bytes) {
  if (bytes.size() < kIpv6Bytes) return std::nullopt;
  Datagram datagram{
      .is_ipv6 = true, .protocol = load_u8(bytes, 6), .header_bytes = kIpv6Bytes, .protocol_at = 6};
  const std::size_t length = load_u16(bytes, 4);
  for (int i = 0; i < kMostExtensions && !datagram.is_fragment; ++i) {
    const Extension* const extension = extension_of(datagram.protocol);
    if (extension == nullptr) break;
    const std::size_t at = datagram.header_bytes;
    if (bytes.size() < at + kExtensionUnit) return std::nullopt;
    const std::size_t size = length_of(*extension, load_u8(bytes, at + 1));
    if (bytes.size() < at + size || datagram.extension_bytes + size > length) return std::nullopt;
    if (extension->length == LengthIn::kFragment) {
      const unsigned place = load_u16(bytes, at + 2);
      datagram.is_fragment = true;
      datagram.more_follow = (place & 1u) != 0;
      datagram.offset = place & ~7u;
      datagram.identification = load_u32(bytes, at + 4);
      datagram.fragment_bytes = size;
    } else {
      datagram.protocol_at = at;
    }
    datagram.protocol = load_u8(bytes, at);
    datagram.extension_bytes += size;
    datagram.header_bytes += size;
  }
  datagram.payload_bytes = length - datagram.extension_bytes;
  take_payload(datagram, bytes);
  return datagram;
}

}  // namespace

std::optional<Datagram> parse_ip(ByteView bytes) {
  if (bytes.empty()) return std::nullopt;
  switch (load_u8(bytes, 0) >> 4) {
    case 4:
      return ipv4_datagram(bytes);
    case 6:
      return ipv6_datagram(bytes);
    default:
      return std::nullopt;
  }
}

}  // namespace urnic::check
