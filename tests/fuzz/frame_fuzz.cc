// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: any Ethernet frame, through every parser of transport/wire.
//
// Nothing may crash or read out of bounds, and whatever parses must come out of our writers as it went in.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <variant>
#include <vector>

#include "transport/wire/arp.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/icmpv6_nd.h"
#include "transport/wire/packet.h"

namespace urnic::transport::wire {
namespace {

using Bytes = std::vector<std::byte>;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Whether emit_headers() writes bits of these headers as zero that the peer may have set.
bool drops_reserved_bits(Headers headers) {
  return has(headers, Headers::kXrceth | Headers::kFeth | Headers::kCnpReserved);
}

void try_packet(std::span<const std::byte> bytes) {
  const auto parsed = parse_packet(bytes);
  if (!parsed) return;
  const Packet& packet = parsed.value();
  const std::size_t headers = header_bytes(packet.bth.opcode);
  Bytes out(headers);
  require(emit_headers(packet, out) == headers, "emit_headers() writes header_bytes() bytes");
  if (!drops_reserved_bits(packet.info->headers)) {
    require(equal(out, bytes.first(headers)), "a parsed packet's headers are written as they were");
  }
  if (packet.info->has_payload) {
    require(packet.payload.data() == bytes.data() + headers, "the payload begins after the headers");
    require(headers + packet.payload.size() + packet.bth.pad_count == bytes.size(),
            "headers, payload and padding are the whole packet");
  } else {
    require(packet.payload.empty(), "an opcode without payload has none");
  }
  const auto again = parse_packet(out);
  require(again || packet.bth.pad_count != 0, "what was written parses again");
  require(!again || again.value().bth == packet.bth, "what was written parses to the same");
}

/// The one thing that emit_frame() does not write as it was: a header checksum of 0xffff, which equals 0.
void normalise_ipv4_checksum(Bytes& frame, std::size_t ip_at) {
  constexpr std::size_t kChecksumAt = 10;
  if (load_u16(frame, ip_at + kChecksumAt) == 0xffff) store_u16(frame, ip_at + kChecksumAt, 0);
}

void try_frame(std::span<const std::byte> bytes) {
  const auto parsed = parse_frame(bytes);
  if (!parsed) return;
  const Frame& frame = parsed.value();
  require(frame.used_bytes + frame.ethernet_padding.size() == bytes.size(), "padding is what is not used");
  require(frame.icrc_ok() == (icrc_of(frame) == frame.icrc), "both ways to the ICRC agree");

  Bytes expected(bytes.begin(), bytes.end());
  if (frame.is_ipv4()) normalise_ipv4_checksum(expected, frame.ethernet.header_bytes());
  Bytes out(bytes.size());
  require(emit_frame(frame, out) == bytes.size(), "a parsed frame is written with its length");
  require(out == expected, "a parsed frame is written as it was");
  try_packet(frame.ib);
}

void try_ip_packet(std::span<const std::byte> bytes) {
  const auto parsed = parse_ip_packet(bytes);
  if (!parsed) return;
  const Frame& frame = parsed.value();
  require(frame.used_bytes + frame.ethernet_padding.size() == bytes.size(), "padding is what is not used");
  require(frame.icrc_ok() == (icrc_of(frame) == frame.icrc), "both ways to the ICRC agree");
  try_packet(frame.ib);
}

void try_address_resolution(std::span<const std::byte> bytes) {
  if (const auto arp = Arp::parse(bytes)) {
    Bytes out(Arp::kBytes);
    emit(*arp, out);
    require(equal(out, bytes.first(Arp::kBytes)), "a parsed ARP packet is written as it was");
  }
  if (const auto message = NeighborMessage::parse(bytes)) {
    Bytes out(NeighborMessage::kMaxBytes);
    out.resize(emit(*message, out));
    require(NeighborMessage::parse(out) == message,
            "a parsed neighbor message is written to parse to the same");
  }
}

void try_everything(std::span<const std::byte> bytes) {
  try_frame(bytes);
  try_ip_packet(bytes);
  try_packet(bytes);
  if (const auto ethernet = Ethernet::parse(bytes)) {
    const auto payload = bytes.subspan(ethernet.value().header_bytes());
    try_ip_packet(payload);
    try_address_resolution(payload);
  }
}

/// The same bytes with right checksums of the IPv4 header and of ICMPv6, so that a changed header is not
/// refused for its checksum.
Bytes with_right_checksums(std::span<const std::byte> bytes) {
  Bytes frame(bytes.begin(), bytes.end());
  const auto ethernet = Ethernet::parse(frame);
  if (!ethernet) return frame;
  const std::span<std::byte> ip = std::span(frame).subspan(ethernet.value().header_bytes());
  if (ethernet.value().ether_type == EtherType::kIpv4 && ip.size() >= Ipv4::kMinBytes) {
    const std::size_t header_bytes = (load_u8(ip, 0) & 0xfu) * 4u;
    if (header_bytes >= Ipv4::kMinBytes && header_bytes <= ip.size()) {
      store_u16(ip, 10, 0);
      store_u16(ip, 10, ipv4_header_checksum(ip.first(header_bytes)));
    }
  } else if (const auto ipv6 = Ipv6::parse(ip);
             ipv6 && ipv6.value().next_header == IpProtocol::kIcmpv6 && ipv6.value().payload_length >= 4) {
    const auto icmp = ip.subspan(Ipv6::kBytes, ipv6.value().payload_length);
    store_u16(icmp, 2, 0);
    InternetChecksum checksum;
    checksum.add_pseudo_header(ipv6.value().source, ipv6.value().destination, IpProtocol::kIcmpv6,
                               ipv6.value().payload_length);
    checksum.add(icmp);
    store_u16(icmp, 2, checksum.value());
  }
  return frame;
}

}  // namespace
}  // namespace urnic::transport::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace wire = urnic::transport::wire;
  const auto bytes = std::as_bytes(std::span(data, size));
  wire::try_everything(bytes);
  wire::try_everything(wire::with_right_checksums(bytes));
  return 0;
}
