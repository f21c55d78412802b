// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/socket_address.h"

#include <endian.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "transport/wire/address.h"

namespace urnic::verbs_api {
namespace {

using nic::rdma_cm::SocketAddress;
using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;

constexpr std::uint32_t kFlowLabelBits = 0xfffff;

template <typename Struct>
Struct read_as(std::span<const std::byte> memory) {
  Struct read{};
  std::memcpy(&read, memory.data(), sizeof(read));
  return read;
}

SocketAddress from(const sockaddr_in& ipv4) {
  Ipv4Address address;
  std::memcpy(address.octets.data(), &ipv4.sin_addr, address.octets.size());
  return {.family = SocketAddress::Family::kIpv4,
          .address = Ipv6Address::from_ipv4(address),
          .port = be16toh(ipv4.sin_port)};
}

SocketAddress from(const sockaddr_in6& ipv6) {
  Ipv6Address address;
  std::memcpy(address.octets.data(), &ipv6.sin6_addr, address.octets.size());
  return {.family = SocketAddress::Family::kIpv6,
          .address = address,
          .port = be16toh(ipv6.sin6_port),
          .flow_info = be32toh(ipv6.sin6_flowinfo) & kFlowLabelBits,
          .scope_id = ipv6.sin6_scope_id};
}

template <typename Struct>
std::size_t write_as(const Struct& address, std::span<std::byte> to) {
  std::memcpy(to.data(), &address, sizeof(address));
  return sizeof(address);
}

sa_family_t family_of(std::span<const std::byte> memory) {
  sa_family_t family = AF_UNSPEC;
  if (memory.size() >= sizeof(family)) std::memcpy(&family, memory.data(), sizeof(family));
  return family;
}

std::size_t bytes_of(sa_family_t family) {
  switch (family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    case kIbFamily:
      return sizeof(IbSocketAddress);
    default:
      return 0;
  }
}

}  // namespace

std::size_t socket_address_bytes(std::span<const std::byte> memory) {
  const std::size_t bytes = bytes_of(family_of(memory));
  return bytes <= memory.size() ? bytes : 0;
}

Result<SocketAddress, int> to_socket_address(std::span<const std::byte> memory) {
  if (socket_address_bytes(memory) == 0) return EINVAL;
  switch (family_of(memory)) {
    case AF_INET:
      return from(read_as<sockaddr_in>(memory));
    case AF_INET6:
      return from(read_as<sockaddr_in6>(memory));
    default:
      return EAFNOSUPPORT;
  }
}

std::size_t write_socket_address(const SocketAddress& address, std::span<std::byte> to) {
  switch (address.family) {
    case SocketAddress::Family::kNone:
      return 0;
    case SocketAddress::Family::kIpv4: {
      sockaddr_in ipv4{};
      ipv4.sin_family = AF_INET;
      ipv4.sin_port = htobe16(address.port);
      const Ipv4Address octets = address.address.ipv4();
      std::memcpy(&ipv4.sin_addr, octets.octets.data(), octets.octets.size());
      return write_as(ipv4, to);
    }
    case SocketAddress::Family::kIpv6: {
      sockaddr_in6 ipv6{};
      ipv6.sin6_family = AF_INET6;
      ipv6.sin6_port = htobe16(address.port);
      ipv6.sin6_flowinfo = htobe32(address.flow_info);
      std::memcpy(&ipv6.sin6_addr, address.address.octets.data(), address.address.octets.size());
      ipv6.sin6_scope_id = address.scope_id;
      return write_as(ipv6, to);
    }
  }
  return 0;
}

}  // namespace urnic::verbs_api
