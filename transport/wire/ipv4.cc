// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/ipv4.h"

#include <algorithm>
#include <cassert>

#include "transport/wire/byte_order.h"

namespace urnic::transport::wire {
namespace {

constexpr std::uint16_t kReservedFlag = 0x8000;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kMoreFragments = 0x2000;
constexpr std::uint16_t kOffsetMask = 0x1fff;
constexpr std::size_t kIpv4ChecksumAt = 10;

}  // namespace

std::optional<ParseError> Ipv4::read(std::span<const std::byte> packet) {
  if (packet.size() < kMinBytes) return ParseError::kTruncated;
  const std::uint8_t version_and_length = load_u8(packet, 0);
  const std::size_t size = (version_and_length & 0xfu) * 4u;
  if (version_and_length >> 4 != 4 || size < kMinBytes) return ParseError::kBadIpHeader;
  total_length = load_u16(packet, 2);
  if (total_length < size) return ParseError::kBadIpHeader;
  if (packet.size() < total_length) return ParseError::kTruncated;
  InternetChecksum checksum;
  checksum.add(packet.first(size));
  if (!checksum.is_right()) return ParseError::kBadIpHeader;

  const std::uint16_t fragment = load_u16(packet, 6);
  tos = load_u8(packet, 1);
  identification = load_u16(packet, 4);
  reserved_flag = (fragment & kReservedFlag) != 0;
  dont_fragment = (fragment & kDontFragment) != 0;
  more_fragments = (fragment & kMoreFragments) != 0;
  fragment_offset = static_cast<std::uint16_t>(fragment & kOffsetMask);
  ttl = load_u8(packet, 8);
  protocol = static_cast<IpProtocol>(load_u8(packet, 9));
  source = load_address<Ipv4Address>(packet, 12);
  destination = load_address<Ipv4Address>(packet, 16);
  options = packet.subspan(kMinBytes, size - kMinBytes);
  return std::nullopt;
}

Result<Ipv4, ParseError> Ipv4::parse(std::span<const std::byte> packet) {
  return parse_in_place<Ipv4>(packet);
}

std::uint16_t ipv4_header_checksum(std::span<const std::byte> header) {
  InternetChecksum checksum;
  checksum.add(header);
  return checksum.value();
}

std::size_t emit(const Ipv4& ipv4, std::span<std::byte> out) {
  const std::size_t size = ipv4.header_bytes();
  assert(size % 4 == 0 && size <= Ipv4::kMaxBytes && size <= out.size());

  const std::uint32_t fragment =
      (ipv4.reserved_flag ? kReservedFlag : 0u) | (ipv4.dont_fragment ? kDontFragment : 0u) |
      (ipv4.more_fragments ? kMoreFragments : 0u) | (ipv4.fragment_offset & std::uint32_t{kOffsetMask});
  store_u8(out, 0, static_cast<std::uint8_t>(0x40u | size / 4));
  store_u8(out, 1, ipv4.tos);
  store_u16(out, 2, ipv4.total_length);
  store_u16(out, 4, ipv4.identification);
  store_u16(out, 6, static_cast<std::uint16_t>(fragment));
  store_u8(out, 8, ipv4.ttl);
  store_u8(out, 9, to_integer(ipv4.protocol));
  store_u16(out, kIpv4ChecksumAt, 0);
  store_address(out, 12, ipv4.source);
  store_address(out, 16, ipv4.destination);
  std::copy(ipv4.options.begin(), ipv4.options.end(),
            out.begin() + static_cast<std::ptrdiff_t>(Ipv4::kMinBytes));
  store_u16(out, kIpv4ChecksumAt, ipv4_header_checksum(out.first(size)));
  return size;
}

}  // namespace urnic::transport::wire
