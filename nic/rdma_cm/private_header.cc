// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/rdma_cm/private_header.h"

#include "transport/types.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic::rdma_cm {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::load_address;
using transport::wire::load_u16;
using transport::wire::load_u8;
using transport::wire::store_address;
using transport::wire::store_u16;
using transport::wire::store_u8;

namespace {

constexpr std::uint8_t kVersion = 0;
constexpr std::size_t kIpVersionAt = 1;
constexpr std::size_t kPortAt = 2;
constexpr std::size_t kSourceAt = 4;
constexpr std::size_t kDestinationAt = 20;
/// An IPv4 address stands in the last bytes of its place.
constexpr std::size_t kIpv4Skip = Ipv6Address::kBytes - Ipv4Address::kBytes;

SocketAddress load(std::span<const std::byte> bytes, std::size_t at, SocketAddress::Family family) {
  const Ipv6Address address = family == SocketAddress::Family::kIpv4
                                  ? Ipv6Address::from_ipv4(load_address<Ipv4Address>(bytes, at + kIpv4Skip))
                                  : load_address<Ipv6Address>(bytes, at);
  return {.family = family, .address = address};
}

void store(const SocketAddress& address, std::span<std::byte> bytes, std::size_t at) {
  store_address(bytes, at, Ipv6Address{});
  if (address.is_ipv4()) {
    store_address(bytes, at + kIpv4Skip, address.address.ipv4());
  } else {
    store_address(bytes, at, address.address);
  }
}

}  // namespace

std::optional<PrivateHeader> parse_private_header(std::span<const std::byte> private_data) {
  if (private_data.size() < kPrivateHeaderBytes || load_u8(private_data, 0) != kVersion) return std::nullopt;
  const std::uint8_t ip_version = load_u8(private_data, kIpVersionAt) >> 4;
  if (ip_version != 4 && ip_version != 6) return std::nullopt;
  const auto family = ip_version == 4 ? SocketAddress::Family::kIpv4 : SocketAddress::Family::kIpv6;
  PrivateHeader header{.source = load(private_data, kSourceAt, family),
                       .destination = load(private_data, kDestinationAt, family)};
  header.source.port = load_u16(private_data, kPortAt);
  return header;
}

void write_private_header(const PrivateHeader& header, std::span<std::byte> private_data) {
  const bool is_ipv4 = header.source.is_ipv4();
  store_u8(private_data, 0, kVersion);
  store_u8(private_data, kIpVersionAt, is_ipv4 ? 0x40 : 0x60);
  store_u16(private_data, kPortAt, header.source.port);
  store(header.source, private_data, kSourceAt);
  store(header.destination, private_data, kDestinationAt);
}

cm::ServiceId service_id_of(PortSpace space, std::uint16_t port) {
  return cm::ServiceId{std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port};
}

std::optional<ServicePort> parse_service_id(cm::ServiceId id) {
  const std::uint64_t value = transport::to_integer(id);
  const std::uint64_t space = value >> 16;
  for (const PortSpace known : kPortSpaces) {
    if (space != transport::to_integer(known)) continue;
    return ServicePort{.space = known, .port = static_cast<std::uint16_t>(value)};
  }
  return std::nullopt;
}

std::uint32_t flow_label_of(const SocketAddress& source, const SocketAddress& destination) {
  constexpr std::uint32_t kMask = 0xfffff;
  if (destination.flow_info != 0) return destination.flow_info & kMask;
  return (std::uint32_t{source.port} * 31 + destination.port) & kMask;
}

}  // namespace urnic::nic::rdma_cm
