// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/ethernet.h"

#include "transport/wire/byte_order.h"

namespace urnic::transport::wire {
namespace {

constexpr bool is_vlan(EtherType type) {
  return type == EtherType::kVlan || type == EtherType::kServiceVlan || type == EtherType::kOldServiceVlan;
}

}  // namespace

std::optional<ParseError> Ethernet::read(std::span<const std::byte> frame) {
  if (frame.size() < kMinBytes) return ParseError::kTruncated;
  destination = load_address<Mac>(frame, 0);
  source = load_address<Mac>(frame, Mac::kBytes);
  ether_type = static_cast<EtherType>(load_u16(frame, kMinBytes - 2));

  while (is_vlan(ether_type) && vlan_tag_count < kMaxVlanTags) {
    const std::size_t at = header_bytes();
    if (frame.size() < at + VlanTag::kBytes) return ParseError::kTruncated;
    vlan_tags[vlan_tag_count] = VlanTag{.type = ether_type, .control = load_u16(frame, at)};
    ++vlan_tag_count;
    ether_type = static_cast<EtherType>(load_u16(frame, at + 2));
  }
  return std::nullopt;
}

Result<Ethernet, ParseError> Ethernet::parse(std::span<const std::byte> frame) {
  return parse_in_place<Ethernet>(frame);
}

std::size_t emit(const Ethernet& ethernet, std::span<std::byte> out) {
  store_address(out, 0, ethernet.destination);
  store_address(out, Mac::kBytes, ethernet.source);
  std::size_t at = 2 * Mac::kBytes;
  for (std::size_t i = 0; i < ethernet.vlan_tag_count; ++i) {
    store_u16(out, at, to_integer(ethernet.vlan_tags[i].type));
    store_u16(out, at + 2, ethernet.vlan_tags[i].control);
    at += VlanTag::kBytes;
  }
  store_u16(out, at, to_integer(ethernet.ether_type));
  return at + 2;
}

}  // namespace urnic::transport::wire
