// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/udp.h"

#include "transport/wire/byte_order.h"

namespace urnic::transport::wire {
namespace {

constexpr std::size_t kUdpChecksumAt = 6;

template <typename Ip>
bool checksum_ok(const Ip& ip, std::span<const std::byte> datagram) {
  if (load_u16(datagram, kUdpChecksumAt) == 0) return true;
  InternetChecksum checksum;
  checksum.add_pseudo_header(ip.source, ip.destination, IpProtocol::kUdp,
                             static_cast<std::uint32_t>(datagram.size()));
  checksum.add(datagram);
  return checksum.is_right();
}

}  // namespace

// Only a datagram that fills its packet exactly is taken: the ICRC stands at its end, and a sender whose IP
// and UDP lengths disagree has no say in where that is.
std::optional<ParseError> Udp::read(std::span<const std::byte> ip_payload) {
  if (ip_payload.size() < kBytes) return ParseError::kTruncated;
  length = load_u16(ip_payload, 4);
  if (length != ip_payload.size()) return ParseError::kBadUdpLength;
  source_port = load_u16(ip_payload, 0);
  destination_port = load_u16(ip_payload, 2);
  checksum = load_u16(ip_payload, kUdpChecksumAt);
  return std::nullopt;
}

Result<Udp, ParseError> Udp::parse(std::span<const std::byte> ip_payload) {
  return parse_in_place<Udp>(ip_payload);
}

std::size_t emit(const Udp& udp, std::span<std::byte> out) {
  store_u16(out, 0, udp.source_port);
  store_u16(out, 2, udp.destination_port);
  store_u16(out, 4, udp.length);
  store_u16(out, kUdpChecksumAt, udp.checksum);
  return Udp::kBytes;
}

bool udp_checksum_ok(const Ipv4& ip, std::span<const std::byte> datagram) {
  return checksum_ok(ip, datagram);
}

bool udp_checksum_ok(const Ipv6& ip, std::span<const std::byte> datagram) {
  return checksum_ok(ip, datagram);
}

}  // namespace urnic::transport::wire
