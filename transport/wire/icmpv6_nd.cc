// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/icmpv6_nd.h"

#include <cassert>

#include "transport/wire/byte_order.h"
#include "transport/wire/ipv6.h"

namespace urnic::transport::wire {
namespace {

using Type = NeighborMessage::Type;

/// Of a router between, none could have sent it: RFC 4861 sections 7.1.1 and 7.1.2.
constexpr std::uint8_t kHopLimit = 255;

constexpr std::size_t kMessageBytes = 24;  ///< type, code, checksum, flags, target
constexpr std::size_t kIcmpChecksumAt = 2;
constexpr std::size_t kFlagsAt = 4;
constexpr std::size_t kTargetAt = 8;

constexpr std::uint8_t kRouterFlag = 0x80;
constexpr std::uint8_t kSolicitedFlag = 0x40;
constexpr std::uint8_t kOverrideFlag = 0x20;

/// Options are counted in units of this many bytes; a link-layer address option for Ethernet takes one.
constexpr std::size_t kOptionUnit = 8;

constexpr std::uint8_t link_layer_option(Type type) {
  constexpr std::uint8_t kSource = 1;
  constexpr std::uint8_t kTarget = 2;
  return type == Type::kSolicitation ? kSource : kTarget;
}

InternetChecksum checksum_of(const Ipv6Address& source, const Ipv6Address& destination,
                             std::span<const std::byte> icmp) {
  InternetChecksum checksum;
  checksum.add_pseudo_header(source, destination, IpProtocol::kIcmpv6,
                             static_cast<std::uint32_t>(icmp.size()));
  checksum.add(icmp);
  return checksum;
}

/// Walks the options for the link-layer address that belongs to `message`; false when they are malformed.
bool parse_options(std::span<const std::byte> options, NeighborMessage& message) {
  while (!options.empty()) {
    if (options.size() < kOptionUnit) return false;
    const std::size_t size = load_u8(options, 1) * kOptionUnit;
    if (size == 0 || size > options.size()) return false;
    if (load_u8(options, 0) == link_layer_option(message.type) && size == kOptionUnit) {
      message.link_layer_address = load_address<Mac>(options, 2);
    }
    options = options.subspan(size);
  }
  return true;
}

/// The rules about what goes together, RFC 4861 sections 7.1.1 and 7.1.2.
bool is_consistent(const NeighborMessage& message) {
  if (message.target.is_multicast()) return false;
  if (message.type == Type::kAdvertisement) return !(message.solicited && message.destination.is_multicast());
  if (!message.source.is_unspecified()) return true;
  return !message.link_layer_address.has_value() &&
         message.destination == solicited_node_multicast(message.destination);
}

}  // namespace

std::optional<NeighborMessage> NeighborMessage::parse(std::span<const std::byte> packet) {
  const Result<Ipv6, ParseError> parsed = Ipv6::parse(packet);
  if (!parsed) return std::nullopt;
  const Ipv6& ip = parsed.value();
  if (ip.next_header != IpProtocol::kIcmpv6 || ip.hop_limit != kHopLimit ||
      ip.payload_length < kMessageBytes) {
    return std::nullopt;
  }
  const std::span<const std::byte> icmp = packet.subspan(Ipv6::kBytes, ip.payload_length);
  const auto type = static_cast<Type>(load_u8(icmp, 0));
  const std::uint8_t code = load_u8(icmp, 1);
  if ((type != Type::kSolicitation && type != Type::kAdvertisement) || code != 0 ||
      !checksum_of(ip.source, ip.destination, icmp).is_right()) {
    return std::nullopt;
  }

  const std::uint8_t flags = type == Type::kAdvertisement ? load_u8(icmp, kFlagsAt) : std::uint8_t{0};
  NeighborMessage message{.type = type,
                          .router = (flags & kRouterFlag) != 0,
                          .solicited = (flags & kSolicitedFlag) != 0,
                          .replaces = (flags & kOverrideFlag) != 0,
                          .source = ip.source,
                          .destination = ip.destination,
                          .target = load_address<Ipv6Address>(icmp, kTargetAt)};
  if (!parse_options(icmp.subspan(kMessageBytes), message) || !is_consistent(message)) return std::nullopt;
  return message;
}

std::size_t emit(const NeighborMessage& message, std::span<std::byte> out) {
  assert(out.size() >= NeighborMessage::kMaxBytes);
  const std::size_t icmp_bytes = kMessageBytes + (message.link_layer_address ? kOptionUnit : 0);
  emit(Ipv6{.payload_length = static_cast<std::uint16_t>(icmp_bytes),
            .next_header = IpProtocol::kIcmpv6,
            .hop_limit = kHopLimit,
            .source = message.source,
            .destination = message.destination},
       out);

  const std::span<std::byte> icmp = out.subspan(Ipv6::kBytes, icmp_bytes);
  std::uint32_t flags = 0;
  if (message.type == Type::kAdvertisement) {
    flags = (message.router ? kRouterFlag : 0u) | (message.solicited ? kSolicitedFlag : 0u) |
            (message.replaces ? kOverrideFlag : 0u);
  }
  store_u8(icmp, 0, to_integer(message.type));
  store_u8(icmp, 1, 0);
  store_u16(icmp, kIcmpChecksumAt, 0);
  store_u32(icmp, kFlagsAt, flags << 24);
  store_address(icmp, kTargetAt, message.target);
  if (message.link_layer_address) {
    store_u8(icmp, kMessageBytes, link_layer_option(message.type));
    store_u8(icmp, kMessageBytes + 1, 1);
    store_address(icmp, kMessageBytes + 2, *message.link_layer_address);
  }
  store_u16(icmp, kIcmpChecksumAt, checksum_of(message.source, message.destination, icmp).value());
  return Ipv6::kBytes + icmp_bytes;
}

}  // namespace urnic::transport::wire
