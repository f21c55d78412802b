// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/arp.h"

#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"

namespace urnic::transport::wire {
namespace {

constexpr std::uint16_t kHardwareEthernet = 1;
constexpr std::uint16_t kAddressLengths = Mac::kBytes << 8 | Ipv4Address::kBytes;

}  // namespace

std::optional<Arp> Arp::parse(std::span<const std::byte> payload) {
  if (payload.size() < kBytes || load_u16(payload, 0) != kHardwareEthernet ||
      load_u16(payload, 2) != to_integer(EtherType::kIpv4) || load_u16(payload, 4) != kAddressLengths) {
    return std::nullopt;
  }
  const auto operation = static_cast<Operation>(load_u16(payload, 6));
  if (operation != Operation::kRequest && operation != Operation::kReply) return std::nullopt;
  return Arp{.operation = operation,
             .sender_mac = load_address<Mac>(payload, 8),
             .sender_ip = load_address<Ipv4Address>(payload, 14),
             .target_mac = load_address<Mac>(payload, 18),
             .target_ip = load_address<Ipv4Address>(payload, 24)};
}

std::size_t emit(const Arp& arp, std::span<std::byte> out) {
  store_u16(out, 0, kHardwareEthernet);
  store_u16(out, 2, to_integer(EtherType::kIpv4));
  store_u16(out, 4, kAddressLengths);
  store_u16(out, 6, to_integer(arp.operation));
  store_address(out, 8, arp.sender_mac);
  store_address(out, 14, arp.sender_ip);
  store_address(out, 18, arp.target_mac);
  store_address(out, 24, arp.target_ip);
  return Arp::kBytes;
}

}  // namespace urnic::transport::wire
