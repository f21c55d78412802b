// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/ipv6.h"

#include "transport/wire/byte_order.h"

namespace urnic::transport::wire {

std::optional<ParseError> Ipv6::read(std::span<const std::byte> packet) {
  if (packet.size() < kBytes) return ParseError::kTruncated;
  const std::uint32_t first_word = load_u32(packet, 0);
  if (first_word >> 28 != 6) return ParseError::kBadIpHeader;
  payload_length = load_u16(packet, 4);
  if (packet.size() - kBytes < payload_length) return ParseError::kTruncated;
  traffic_class = static_cast<std::uint8_t>(first_word >> 20);
  flow_label = first_word & 0xfffffu;
  next_header = static_cast<IpProtocol>(load_u8(packet, 6));
  hop_limit = load_u8(packet, 7);
  source = load_address<Ipv6Address>(packet, 8);
  destination = load_address<Ipv6Address>(packet, 24);
  return std::nullopt;
}

Result<Ipv6, ParseError> Ipv6::parse(std::span<const std::byte> packet) {
  return parse_in_place<Ipv6>(packet);
}

std::size_t emit(const Ipv6& ipv6, std::span<std::byte> out) {
  store_u32(out, 0, 6u << 28 | std::uint32_t{ipv6.traffic_class} << 20 | (ipv6.flow_label & 0xfffffu));
  store_u16(out, 4, ipv6.payload_length);
  store_u8(out, 6, to_integer(ipv6.next_header));
  store_u8(out, 7, ipv6.hop_limit);
  store_address(out, 8, ipv6.source);
  store_address(out, 24, ipv6.destination);
  return Ipv6::kBytes;
}

}  // namespace urnic::transport::wire
