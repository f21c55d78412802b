// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/frame.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"

namespace urnic::transport::wire {
namespace {

/// Reads everything from UDP on. `packet` is the IP packet without Ethernet padding, `ip` its header, in
/// `frame`.
template <typename Ip>
std::optional<ParseError> read_udp_and_beyond(std::span<const std::byte> packet, std::size_t ip_bytes,
                                              const Ip& ip, Frame& frame) {
  const std::span<const std::byte> datagram = packet.subspan(ip_bytes);
  if (const auto error = frame.udp.read(datagram)) return error;
  if (frame.udp.destination_port != kRocePort) return ParseError::kNotRoce;
  if (datagram.size() < Udp::kBytes + Bth::kBytes + kIcrcBytes) return ParseError::kTooShort;
  if (!udp_checksum_ok(ip, datagram)) return ParseError::kBadUdpChecksum;
  frame.outer_headers = packet.first(ip_bytes + Udp::kBytes);
  frame.ib = datagram.subspan(Udp::kBytes, datagram.size() - Udp::kBytes - kIcrcBytes);
  frame.icrc = load_icrc(datagram.last(kIcrcBytes));
  return std::nullopt;
}

/// `bytes` is everything after the Ethernet header.
std::optional<ParseError> read_ipv4(std::span<const std::byte> bytes, Frame& frame) {
  Ipv4& ip = frame.ip.emplace<Ipv4>();
  if (const auto error = ip.read(bytes)) return error;
  if (ip.is_fragment()) return ParseError::kFragment;
  if (ip.protocol != IpProtocol::kUdp) return ParseError::kNotUdp;
  return read_udp_and_beyond(bytes.first(ip.total_length), ip.header_bytes(), ip, frame);
}

std::optional<ParseError> read_ipv6(std::span<const std::byte> bytes, Frame& frame) {
  Ipv6& ip = frame.ip.emplace<Ipv6>();
  if (const auto error = ip.read(bytes)) return error;
  if (ip.next_header != IpProtocol::kUdp) return ParseError::kNotUdp;
  return read_udp_and_beyond(bytes.first(Ipv6::kBytes + ip.payload_length), Ipv6::kBytes, ip, frame);
}

/// A GRH has the form of an IPv6 header. The packet follows at once.
std::optional<ParseError> read_roce_v1(std::span<const std::byte> bytes, Frame& frame) {
  frame.encapsulation = Encapsulation::kRoceV1;
  Ipv6& grh = frame.ip.emplace<Ipv6>();
  if (const auto error = grh.read(bytes)) return error;
  if (grh.next_header != IpProtocol::kBth) return ParseError::kNotRoce;
  if (grh.payload_length < Bth::kBytes + kIcrcBytes) return ParseError::kTooShort;
  const std::span<const std::byte> packet = bytes.subspan(Ipv6::kBytes, grh.payload_length);
  frame.outer_headers = bytes.first(Ipv6::kBytes);
  frame.ib = packet.first(packet.size() - kIcrcBytes);
  frame.icrc = load_icrc(packet.last(kIcrcBytes));
  return std::nullopt;
}

std::size_t ip_header_bytes(const Frame& frame) {
  const auto* const ipv4 = std::get_if<Ipv4>(&frame.ip);
  return ipv4 != nullptr ? ipv4->header_bytes() : Ipv6::kBytes;
}

/// Everything after the IP header, or the GRH.
std::size_t ip_payload_bytes(const Frame& frame) {
  const std::size_t udp = frame.encapsulation == Encapsulation::kRoceV2 ? Udp::kBytes : 0;
  return udp + frame.ib.size() + kIcrcBytes;
}

/// What IPv4 counts in its total length, header included, and IPv6 or a GRH in its payload length, without.
std::size_t ip_length_field(const Frame& frame) {
  return ip_payload_bytes(frame) + (frame.is_ipv4() ? ip_header_bytes(frame) : 0);
}

/// Writes the headers between Ethernet and BTH of a frame that is short enough; returns their size.
std::size_t emit_outer_headers(const Frame& frame, std::span<std::byte> out) {
  const auto ip_length = static_cast<std::uint16_t>(ip_length_field(frame));
  std::size_t size = 0;
  if (const auto* const ipv4 = std::get_if<Ipv4>(&frame.ip)) {
    Ipv4 ip = *ipv4;
    ip.total_length = ip_length;
    size = emit(ip, out);
  } else {
    Ipv6 ip = std::get<Ipv6>(frame.ip);
    ip.payload_length = ip_length;
    size = emit(ip, out);
  }
  if (frame.encapsulation == Encapsulation::kRoceV1) return size;
  Udp udp = frame.udp;
  udp.length = static_cast<std::uint16_t>(ip_payload_bytes(frame));
  return size + emit(udp, out.subspan(size));
}

std::uint32_t icrc(const Frame& frame, std::span<const std::byte> outer_headers) {
  if (frame.is_ipv4()) return icrc_ipv4(outer_headers, frame.ib);
  if (frame.encapsulation == Encapsulation::kRoceV2) return icrc_ipv6(outer_headers, frame.ib);
  return icrc_grh(outer_headers, frame.ib);
}

}  // namespace

Gid Frame::source_gid() const {
  const auto* const ipv4 = std::get_if<Ipv4>(&ip);
  return ipv4 != nullptr ? Gid::from_ipv4(ipv4->source) : std::get<Ipv6>(ip).source;
}

Gid Frame::destination_gid() const {
  const auto* const ipv4 = std::get_if<Ipv4>(&ip);
  return ipv4 != nullptr ? Gid::from_ipv4(ipv4->destination) : std::get<Ipv6>(ip).destination;
}

std::uint32_t Frame::expected_icrc() const {
  return wire::icrc(*this, outer_headers);
}

std::optional<ParseError> Frame::read(std::span<const std::byte> bytes) {
  if (const auto error = ethernet.read(bytes)) return error;
  const auto behind_ethernet = bytes.subspan(ethernet.header_bytes());
  std::optional<ParseError> error = ParseError::kNotIp;
  if (ethernet.ether_type == EtherType::kIpv4) {
    error = read_ipv4(behind_ethernet, *this);
  } else if (ethernet.ether_type == EtherType::kIpv6) {
    error = read_ipv6(behind_ethernet, *this);
  } else if (ethernet.ether_type == EtherType::kRoceV1) {
    error = read_roce_v1(behind_ethernet, *this);
  }
  if (error) return error;
  used_bytes = ethernet.header_bytes() + outer_headers.size() + ib.size() + kIcrcBytes;
  ethernet_padding = bytes.subspan(used_bytes);
  return std::nullopt;
}

std::optional<ParseError> Frame::read_ip_packet(std::span<const std::byte> bytes) {
  const unsigned version = bytes.empty() ? 0 : std::to_integer<unsigned>(bytes[0]) >> 4;
  std::optional<ParseError> error = ParseError::kNotIp;
  if (version == 4) {
    error = read_ipv4(bytes, *this);
  } else if (version == 6) {
    error = read_ipv6(bytes, *this);
  }
  if (error) return error;
  used_bytes = outer_headers.size() + ib.size() + kIcrcBytes;
  ethernet_padding = bytes.subspan(used_bytes);
  return std::nullopt;
}

Result<Frame, ParseError> parse_frame(std::span<const std::byte> bytes) {
  return parse_in_place<Frame>(bytes);
}

Result<Frame, ParseError> parse_ip_packet(std::span<const std::byte> bytes) {
  Result<Frame, ParseError> result{std::in_place_type<Frame>};
  if (const std::optional<ParseError> error = result.value().read_ip_packet(bytes)) result = *error;
  return result;
}

std::uint32_t icrc_of(const Frame& frame) {
  std::array<std::byte, Ipv4::kMaxBytes + Udp::kBytes> headers;
  const std::size_t size = emit_outer_headers(frame, headers);
  return icrc(frame, std::span(headers).first(size));
}

std::size_t emit_frame(const Frame& frame, std::span<std::byte> out) {
  const std::size_t used = frame.ethernet.header_bytes() + ip_header_bytes(frame) + ip_payload_bytes(frame);
  const std::size_t size = used + frame.ethernet_padding.size();
  if (ip_length_field(frame) > std::numeric_limits<std::uint16_t>::max() || size > out.size()) return 0;
  std::size_t at = emit(frame.ethernet, out);
  at += emit_outer_headers(frame, out.subspan(at));
  std::copy(frame.ib.begin(), frame.ib.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
  store_icrc(frame.icrc, out.subspan(at + frame.ib.size()));
  std::copy(frame.ethernet_padding.begin(), frame.ethernet_padding.end(),
            out.begin() + static_cast<std::ptrdiff_t>(used));
  return size;
}

}  // namespace urnic::transport::wire
