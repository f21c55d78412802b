// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/roce_packet.h"

#include <algorithm>

#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::conform {
namespace {

namespace wire = transport::wire;

constexpr std::size_t kIcrcBytes = 4;
constexpr std::size_t kBthBytes = 12;
/// Of queue pairs, which choose theirs in this range (fact 9).
constexpr std::uint16_t kSourcePort = 0xc123;

bool is_of(const check::Address& address, const wire::Gid& gid) {
  return std::equal(address.octets.begin(), address.octets.end(), gid.octets.begin(),
                    [](std::uint8_t a, auto b) { return a == static_cast<std::uint8_t>(b); });
}

std::uint8_t traffic_class_of(const check::Frame& frame) {
  const auto at = [&](std::size_t index) { return std::to_integer<unsigned>(frame.ip_header[index]); };
  return static_cast<std::uint8_t>(frame.is_ipv6 ? (at(0) & 0xf) << 4 | at(1) >> 4 : at(1));
}

std::size_t put_headers(const Addresses& addresses, std::size_t payload, std::span<std::byte> out) {
  const auto udp_bytes = static_cast<std::uint16_t>(wire::Udp::kBytes + payload);
  std::size_t size = 0;
  if (addresses.peer.is_ipv4_mapped()) {
    size = emit(wire::Ipv4{.total_length = static_cast<std::uint16_t>(wire::Ipv4::kMinBytes + udp_bytes),
                           .source = addresses.own.ipv4(),
                           .destination = addresses.peer.ipv4()},
                out);
  } else {
    wire::Ipv6 ipv6;
    ipv6.payload_length = udp_bytes;
    ipv6.source = addresses.own;
    ipv6.destination = addresses.peer;
    size = emit(ipv6, out);
  }
  return size + emit(wire::Udp{.source_port = kSourcePort, .length = udp_bytes}, out.subspan(size));
}

}  // namespace

std::vector<std::byte> make_roce_packet(const Addresses& addresses, std::span<const std::byte> ib) {
  constexpr std::size_t kMostHeaders = 48;
  std::vector<std::byte> packet(kMostHeaders + ib.size() + kIcrcBytes);
  const std::size_t headers = put_headers(addresses, ib.size() + kIcrcBytes, packet);
  packet.resize(headers + ib.size() + kIcrcBytes);
  std::copy(ib.begin(), ib.end(), packet.begin() + static_cast<std::ptrdiff_t>(headers));
  const auto frame = check::parse_frame(check::LinkType::kRaw, packet);
  const auto verdict = frame ? check::judge_icrc(*frame) : std::nullopt;
  std::uint32_t icrc = verdict ? verdict->expected : 0;
  for (std::size_t i = headers + ib.size(); i < packet.size(); ++i, icrc >>= 8) {
    packet[i] = static_cast<std::byte>(icrc);
  }
  return packet;
}

std::optional<HeardPacket> read_roce_packet(const Addresses& addresses, std::span<const std::byte> packet) {
  const auto frame = check::parse_frame(check::LinkType::kRaw, packet);
  if (!frame || frame->is_roce_v1 || frame->destination_port != check::kRocePort) return std::nullopt;
  if (!is_of(frame->source, addresses.peer) || frame->ib.size() < kBthBytes + kIcrcBytes) return std::nullopt;
  HeardPacket heard;
  const check::ByteView bytes = frame->ib;
  heard.ib.assign(bytes.begin(), bytes.end() - kIcrcBytes);
  heard.destination_qp = std::to_integer<std::uint32_t>(bytes[5]) << 16 |
                         std::to_integer<std::uint32_t>(bytes[6]) << 8 |
                         std::to_integer<std::uint32_t>(bytes[7]);
  heard.traffic_class = traffic_class_of(*frame);
  const auto icrc = check::judge_icrc(*frame);
  if (frame->fault != check::FrameFault::kNone) heard.fault = "the lengths of IP, UDP and packet differ";
  if (check::judge_udp_checksum(*frame) == check::UdpChecksum::kWrong) heard.fault = "wrong UDP checksum";
  if (icrc && !icrc->is_right()) heard.fault = "wrong ICRC (fact 1)";
  return heard;
}

}  // namespace urnic::conform
