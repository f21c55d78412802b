// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/mark.h"

#include <algorithm>
#include <cassert>

#include "drivers/shortest_frame.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {
namespace {

namespace wire = transport::wire;
using wire::Ethernet;
using wire::Gid;
using wire::Ipv4;
using wire::Ipv6;
using wire::Mac;
using wire::Udp;

/// Tells marks from what else has their type: "urnc", and then the nonce.
constexpr std::uint32_t kMagic = 0x75726e63;
constexpr std::size_t kTextBytes = sizeof kMagic + sizeof(std::uint64_t);

// Ethernet.
constexpr std::size_t kTypeAt = 12;
constexpr std::uint16_t kLocalExperimental = 0x88b5;

// RoCEv2, from the BTH on.
constexpr std::uint8_t kManufacturersOpcode = 0xff;
constexpr std::size_t kQpAt = 5;
constexpr std::size_t kRoceBytes = wire::Bth::kBytes + kTextBytes + wire::kIcrcBytes;

void put_text(std::uint64_t nonce, std::span<std::byte> to) {
  wire::store_u32(to, 0, kMagic);
  wire::store_big<std::uint64_t>(to, sizeof kMagic, nonce);
}

std::optional<std::uint64_t> text_in(std::span<const std::byte> from) {
  if (from.size() < kTextBytes || wire::load_u32(from, 0) != kMagic) return std::nullopt;
  return wire::load_u64(from, sizeof kMagic);
}

std::size_t emit_ethernet(const Mark& mark, std::span<std::byte> frame) {
  std::fill_n(frame.begin(), kShortestFrame, std::byte{0});
  wire::emit(Ethernet{.destination = mark.to,
                      .source = mark.from,
                      .ether_type = static_cast<wire::EtherType>(kLocalExperimental)},
             frame);
  put_text(mark.nonce, frame.subspan(Ethernet::kMinBytes));
  return kShortestFrame;
}

std::optional<Mark> parse_ethernet(std::span<const std::byte> frame) {
  if (frame.size() < Ethernet::kMinBytes) return std::nullopt;
  if (wire::load_u16(frame, kTypeAt) != kLocalExperimental) return std::nullopt;
  const auto nonce = text_in(frame.subspan(Ethernet::kMinBytes));
  if (!nonce) return std::nullopt;
  return Mark{.to = wire::load_address<Mac>(frame, 0),
              .from = wire::load_address<Mac>(frame, Mac::kBytes),
              .nonce = *nonce};
}

/// IP and UDP headers from `address` to itself.
std::size_t emit_headers(const Gid& address, std::span<std::byte> packet) {
  constexpr std::uint16_t kUdpBytes = Udp::kBytes + kRoceBytes;
  constexpr std::uint8_t kHopLimit = 64;
  std::size_t bytes;
  if (address.is_ipv4_mapped()) {
    bytes = wire::emit(Ipv4{.total_length = Ipv4::kMinBytes + kUdpBytes,
                            .ttl = kHopLimit,
                            .source = address.ipv4(),
                            .destination = address.ipv4()},
                       packet);
  } else {
    bytes = wire::emit(
        Ipv6{.payload_length = kUdpBytes, .hop_limit = kHopLimit, .source = address, .destination = address},
        packet);
  }
  return bytes + wire::emit(Udp{.source_port = wire::kRocePort, .length = kUdpBytes}, packet.subspan(bytes));
}

std::size_t emit_ip(const Mark& mark, const Gid& address, std::span<std::byte> packet) {
  const std::size_t headers = emit_headers(address, packet);
  const std::span<std::byte> roce = packet.subspan(headers, kRoceBytes);
  std::ranges::fill(roce, std::byte{0});
  wire::store_u8(roce, 0, kManufacturersOpcode);
  // The highest bits of the queue pair's number say whose it is; see nic::station_of_share().
  wire::store_u8(roce, kQpAt, mark.to.octets.back());
  put_text(mark.nonce, roce.subspan(wire::Bth::kBytes));
  return headers + kRoceBytes;
}

std::optional<Mark> parse_ip(std::span<const std::byte> packet) {
  if (packet.empty()) return std::nullopt;
  const bool is_ipv4 = std::to_integer<unsigned>(packet[0]) >> 4 == 4;
  const std::size_t headers = (is_ipv4 ? Ipv4::kMinBytes : Ipv6::kBytes) + Udp::kBytes;
  if (packet.size() != headers + kRoceBytes || wire::load_u8(packet, headers) != kManufacturersOpcode) {
    return std::nullopt;
  }
  const auto nonce = text_in(packet.subspan(headers + wire::Bth::kBytes));
  if (!nonce) return std::nullopt;
  return Mark{.to = {}, .from = {}, .nonce = *nonce};
}

}  // namespace

std::size_t MarkForm::emit(const Mark& mark, std::span<std::byte> frame) const {
  assert(frame.size() >= kMaxBytes);
  return medium_ == nic::Medium::kIp ? emit_ip(mark, shared_address_, frame) : emit_ethernet(mark, frame);
}

std::optional<Mark> MarkForm::parse(std::span<const std::byte> frame) const {
  return medium_ == nic::Medium::kIp ? parse_ip(frame) : parse_ethernet(frame);
}

}  // namespace urnic::drivers
