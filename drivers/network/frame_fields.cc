// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/frame_fields.h"

#include <cassert>

#include "drivers/network/random.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ecn.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"

namespace urnic::network {
namespace {

namespace wire = transport::wire;

constexpr std::uint64_t kLinkLocalGroup = 0x0180c2000000;  // ...:00 to ...:0f
constexpr std::uint64_t kMacControlGroup = 0x0180c2000001;
constexpr std::uint16_t kMacControl = 0x8808;

constexpr std::size_t kTosAt = 1;
constexpr std::size_t kFragmentAt = 6;
constexpr std::uint16_t kFragmentMask = 0x3fff;  // "more fragments" and the offset
constexpr std::size_t kProtocolAt = 9;
constexpr std::size_t kIpv4AddressesAt = 12;
constexpr std::size_t kNextHeaderAt = 6;
constexpr std::size_t kIpv6AddressesAt = 8;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;

constexpr std::uint64_t add_to_hash(std::uint64_t hash, std::uint64_t value) {
  return spread(hash ^ value) + 0x9e3779b97f4a7c15u;
}

/// The ports of TCP and UDP, which begin at `at`.
std::uint64_t ports_of(std::span<const std::byte> ip, std::uint8_t protocol, std::size_t at) {
  const bool has_ports = (protocol == kTcp || protocol == kUdp) && ip.size() >= at + 4;
  return has_ports ? wire::load_u32(ip, at) : 0;
}

void read_traffic_class(std::uint8_t traffic_class, FrameFields& fields) {
  fields.dscp = static_cast<std::uint8_t>(traffic_class >> 2);
  fields.ecn = static_cast<Ecn>(traffic_class & 3u);
}

void read_ipv4(std::span<const std::byte> ip, std::size_t at, FrameFields& fields) {
  if (ip.size() < wire::Ipv4::kMinBytes) return;
  const std::uint8_t version_and_length = wire::load_u8(ip, 0);
  const std::size_t header = (version_and_length & 0xfu) * 4u;
  if (version_and_length >> 4 != 4 || header < wire::Ipv4::kMinBytes || ip.size() < header) return;
  fields.ip_at = static_cast<std::uint16_t>(at);
  read_traffic_class(wire::load_u8(ip, kTosAt), fields);

  const std::uint8_t protocol = wire::load_u8(ip, kProtocolAt);
  const bool is_fragment = (wire::load_u16(ip, kFragmentAt) & kFragmentMask) != 0;
  fields.flow = add_to_hash(protocol, wire::load_u64(ip, kIpv4AddressesAt));
  if (!is_fragment) fields.flow = add_to_hash(fields.flow, ports_of(ip, protocol, header));
}

void read_ipv6(std::span<const std::byte> ip, std::size_t at, FrameFields& fields) {
  if (ip.size() < wire::Ipv6::kBytes || wire::load_u8(ip, 0) >> 4 != 6) return;
  fields.ip_at = static_cast<std::uint16_t>(at);
  fields.is_ipv6 = true;
  read_traffic_class(static_cast<std::uint8_t>(wire::load_u16(ip, 0) >> 4), fields);

  const std::uint8_t protocol = wire::load_u8(ip, kNextHeaderAt);
  fields.flow = protocol;
  for (std::size_t i = 0; i < 4; ++i) {
    fields.flow = add_to_hash(fields.flow, wire::load_u64(ip, kIpv6AddressesAt + 8 * i));
  }
  fields.flow = add_to_hash(fields.flow, ports_of(ip, protocol, wire::Ipv6::kBytes));
}

}  // namespace

std::optional<FrameFields> read_fields(std::span<const std::byte> frame) {
  wire::Ethernet ethernet;
  if (ethernet.read(frame)) return std::nullopt;
  FrameFields fields;
  fields.destination = number_of(ethernet.destination);
  fields.is_group = ethernet.destination.is_multicast();
  fields.is_link_local = (fields.destination & ~std::uint64_t{0xf}) == kLinkLocalGroup;
  const auto ether_type = static_cast<std::uint16_t>(ethernet.ether_type);
  fields.is_mac_control = fields.destination == kMacControlGroup && ether_type == kMacControl;
  fields.flow = add_to_hash(add_to_hash(ether_type, fields.destination), number_of(ethernet.source));

  const std::size_t at = ethernet.header_bytes();
  if (ethernet.ether_type == wire::EtherType::kIpv4) read_ipv4(frame.subspan(at), at, fields);
  if (ethernet.ether_type == wire::EtherType::kIpv6) read_ipv6(frame.subspan(at), at, fields);
  return fields;
}

void mark_congestion(std::span<std::byte> frame, FrameFields& fields) {
  assert(fields.ip_at != 0);
  fields.ecn = Ecn::kCe;
  wire::mark_congestion_experienced(frame.subspan(fields.ip_at));
}

}  // namespace urnic::network
