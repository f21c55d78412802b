// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/raw/flow_match.h"

#include <concepts>

#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"

namespace urnic::nic {

using transport::wire::Ethernet;
using transport::wire::EtherType;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::load_address;
using transport::wire::load_u16;
using transport::wire::load_u32;
using transport::wire::load_u8;

namespace {

using Bytes = std::span<const std::byte>;

std::optional<FlowHeaders::Ports> read_ports(std::uint8_t protocol, Bytes segment) {
  constexpr std::size_t kTcpBytes = 20;
  constexpr std::size_t kUdpBytes = 8;
  const bool is_tcp = protocol == transport::to_integer(PortProtocol::kTcp);
  const bool is_udp = protocol == transport::to_integer(PortProtocol::kUdp);
  if (!is_tcp && !is_udp) return std::nullopt;
  if (segment.size() < (is_tcp ? kTcpBytes : kUdpBytes)) return std::nullopt;
  return FlowHeaders::Ports{.protocol = static_cast<PortProtocol>(protocol),
                            .source = load_u16(segment, 0),
                            .destination = load_u16(segment, 2)};
}

void read_ipv4(FlowHeaders& headers, Bytes packet) {
  constexpr std::uint16_t kOffsetMask = 0x1fff;
  constexpr unsigned kFlagsShift = 13;
  if (packet.size() < transport::wire::Ipv4::kMinBytes || load_u8(packet, 0) >> 4 != 4) return;
  const std::size_t header_bytes = (load_u8(packet, 0) & 0xfu) * 4u;
  const bool is_whole = header_bytes >= transport::wire::Ipv4::kMinBytes && header_bytes <= packet.size();
  if (!is_whole) return;
  const std::uint16_t fragment = load_u16(packet, 6);
  headers.ipv4 = {.source = load_address<Ipv4Address>(packet, 12),
                  .destination = load_address<Ipv4Address>(packet, 16),
                  .protocol = load_u8(packet, 9),
                  .tos = load_u8(packet, 1),
                  .ttl = load_u8(packet, 8),
                  .flags = static_cast<std::uint8_t>(fragment >> kFlagsShift)};
  if ((fragment & kOffsetMask) == 0) {
    headers.ports = read_ports(headers.ipv4->protocol, packet.subspan(header_bytes));
  }
}

void read_ipv6(FlowHeaders& headers, Bytes packet) {
  constexpr std::uint32_t kFlowLabelMask = 0xfffff;
  constexpr unsigned kTrafficClassShift = 20;
  if (packet.size() < transport::wire::Ipv6::kBytes || load_u8(packet, 0) >> 4 != 6) return;
  const std::uint32_t first_word = load_u32(packet, 0);
  headers.ipv6 = {.source = load_address<Ipv6Address>(packet, 8),
                  .destination = load_address<Ipv6Address>(packet, 24),
                  .flow_label = first_word & kFlowLabelMask,
                  .next_header = load_u8(packet, 6),
                  .traffic_class = static_cast<std::uint8_t>(first_word >> kTrafficClassShift),
                  .hop_limit = load_u8(packet, 7)};
  headers.ports = read_ports(headers.ipv6->next_header, packet.subspan(transport::wire::Ipv6::kBytes));
}

template <std::unsigned_integral T>
bool fits(const Masked<T>& wanted, T seen) {
  return ((wanted.value ^ seen) & wanted.mask) == 0;
}

/// Addresses, octet by octet.
template <typename Address>
requires requires {
  Address::kBytes;
}
bool fits(const Masked<Address>& wanted, const Address& seen) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < Address::kBytes; ++i) {
    difference |= (wanted.value.octets[i] ^ seen.octets[i]) & wanted.mask.octets[i];
  }
  return difference == 0;
}

bool fits(const EthernetMatch& wanted, const FlowHeaders& seen) {
  if (wanted.vlan_tag.mask != 0 && !(seen.vlan_tag && fits(wanted.vlan_tag, *seen.vlan_tag))) return false;
  return fits(wanted.destination, seen.destination) && fits(wanted.source, seen.source) &&
         fits(wanted.ether_type, seen.ether_type);
}

bool fits(const Ipv4Match& wanted, const FlowHeaders::Ipv4& seen) {
  return fits(wanted.source, seen.source) && fits(wanted.destination, seen.destination) &&
         fits(wanted.protocol, seen.protocol) && fits(wanted.tos, seen.tos) && fits(wanted.ttl, seen.ttl) &&
         fits(wanted.flags, seen.flags);
}

bool fits(const Ipv6Match& wanted, const FlowHeaders::Ipv6& seen) {
  return fits(wanted.source, seen.source) && fits(wanted.destination, seen.destination) &&
         fits(wanted.flow_label, seen.flow_label) && fits(wanted.next_header, seen.next_header) &&
         fits(wanted.traffic_class, seen.traffic_class) && fits(wanted.hop_limit, seen.hop_limit);
}

bool fits(const PortsMatch& wanted, const FlowHeaders::Ports& seen) {
  return wanted.protocol == seen.protocol && fits(wanted.source, seen.source) &&
         fits(wanted.destination, seen.destination);
}

/// Whether a header that is named is there and fits.
template <typename Match, typename Header>
bool fits_if_named(const std::optional<Match>& wanted, const std::optional<Header>& seen) {
  return !wanted || (seen && fits(*wanted, *seen));
}

}  // namespace

FlowHeaders FlowHeaders::read(Bytes frame) {
  FlowHeaders headers;
  Ethernet ethernet;
  if (ethernet.read(frame)) return headers;
  headers.is_ethernet = true;
  headers.source = ethernet.source;
  headers.destination = ethernet.destination;
  headers.ether_type = transport::to_integer(ethernet.ether_type);
  if (ethernet.vlan_tag_count > 0) headers.vlan_tag = ethernet.vlan_tags[0].control;
  const Bytes packet = frame.subspan(ethernet.header_bytes());
  if (ethernet.ether_type == EtherType::kIpv4) read_ipv4(headers, packet);
  if (ethernet.ether_type == EtherType::kIpv6) read_ipv6(headers, packet);
  return headers;
}

bool matches(const FlowRule& rule, const FlowHeaders& headers) {
  if (!headers.is_ethernet) return false;
  if (rule.ethernet && !fits(*rule.ethernet, headers)) return false;
  return fits_if_named(rule.ipv4, headers.ipv4) && fits_if_named(rule.ipv6, headers.ipv6) &&
         fits_if_named(rule.ports, headers.ports);
}

}  // namespace urnic::nic
