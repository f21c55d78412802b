// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/frame.h"

#include <arpa/inet.h>

#include <algorithm>

#include "tools/conformance/check/packets/ip.h"
#include "tools/conformance/check/packets/opcode.h"

namespace urnic::check {
namespace {

bool is_vlan(std::uint16_t ether_type) {
  return ether_type == 0x8100 || ether_type == 0x88a8 || ether_type == 0x9100;
}

std::optional<Network> behind_type_at(ByteView bytes, std::size_t type_at, std::size_t payload_at) {
  if (bytes.size() < payload_at) return std::nullopt;
  Network network{.ether_type = load_u16(bytes, type_at), .bytes = bytes.subspan(payload_at)};
  while (is_vlan(network.ether_type) && network.bytes.size() >= kVlanBytes) {
    network.ether_type = load_u16(network.bytes, 2);
    network.bytes = network.bytes.subspan(kVlanBytes);
  }
  return network;
}

Address address_at(ByteView bytes, std::size_t at, std::size_t size) {
  Address address;
  if (size == 4) address.octets[10] = address.octets[11] = 0xff;
  std::transform(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                 address.octets.end() - static_cast<std::ptrdiff_t>(size),
                 [](std::byte octet) { return std::to_integer<std::uint8_t>(octet); });
  return address;
}

/// Cuts the UDP header and what it announces out of `behind_ip`, of which `ip_payload` bytes are IP's.
void take_udp(Frame& frame, ByteView behind_ip, std::size_t ip_payload) {
  frame.udp_header = behind_ip.first(kUdpBytes);
  frame.source_port = load_u16(behind_ip, 0);
  frame.destination_port = load_u16(behind_ip, 2);
  frame.udp_length = load_u16(behind_ip, 4);
  frame.udp_checksum = load_u16(behind_ip, 6);
  frame.trailing_bytes = behind_ip.size() - std::min(behind_ip.size(), ip_payload);
  if (frame.udp_length < kUdpBytes + kLeastIbBytes || frame.udp_length > ip_payload) {
    frame.fault = FrameFault::kUdpLength;
    return;
  }
  frame.ib_bytes = frame.udp_length - kUdpBytes;
  frame.ib = behind_ip.subspan(kUdpBytes, std::min(frame.ib_bytes, behind_ip.size() - kUdpBytes));
}

std::optional<Frame> parse_ipv4(ByteView bytes) {
  constexpr unsigned kMoreFragments = 0x2000;
  constexpr unsigned kOffset = 0x1fff;
  if (bytes.size() < kIpv4MinBytes || (load_u8(bytes, 0) >> 4) != 4 || load_u8(bytes, 9) != kProtocolUdp) {
    return std::nullopt;
  }
  const std::size_t header_bytes = (load_u8(bytes, 0) & 0xfu) * 4u;
  const unsigned fragment = load_u16(bytes, 6);
  if (header_bytes < kIpv4MinBytes || bytes.size() < header_bytes + kUdpBytes || (fragment & kOffset) != 0) {
    return std::nullopt;
  }
  Frame frame{.source = address_at(bytes, 12, 4),
              .destination = address_at(bytes, 16, 4),
              .traffic_class = load_u8(bytes, 1),
              .ip_id = load_u16(bytes, 4),
              .ip_length = load_u16(bytes, 2),
              .ip_header = bytes.first(header_bytes)};
  if (frame.ip_length < header_bytes + kUdpBytes) frame.fault = FrameFault::kIpLength;
  const std::size_t payload = frame.ip_length - std::min(frame.ip_length, header_bytes);
  const FrameFault fault = frame.fault;
  take_udp(frame, bytes.subspan(header_bytes), payload);
  if (fault != FrameFault::kNone) {
    frame.fault = fault;
  } else if ((fragment & kMoreFragments) != 0) {
    frame.fault = FrameFault::kFragment;
  }
  return frame;
}

std::optional<Frame> parse_ipv6(ByteView bytes) {
  const auto datagram = parse_ip(bytes);
  if (!datagram || !datagram->is_ipv6 || datagram->protocol != kProtocolUdp || datagram->offset != 0 ||
      bytes.size() < datagram->header_bytes + kUdpBytes) {
    return std::nullopt;
  }
  Frame frame{.is_ipv6 = true,
              .source = address_at(bytes, 8, 16),
              .destination = address_at(bytes, 24, 16),
              .traffic_class = static_cast<std::uint8_t>(load_u16(bytes, 0) >> 4),
              .ip_length = kIpv6Bytes + load_u16(bytes, 4),
              .ip_header = bytes.first(kIpv6Bytes),
              .ip_extensions = bytes.subspan(kIpv6Bytes, datagram->extension_bytes)};
  take_udp(frame, bytes.subspan(datagram->header_bytes), datagram->payload_bytes);
  if (datagram->payload_bytes < kUdpBytes) {
    frame.fault = FrameFault::kIpLength;
  } else if (datagram->is_fragment && datagram->more_follow) {
    frame.fault = FrameFault::kFragment;
  }
  return frame;
}

std::optional<Frame> parse_grh(ByteView bytes) {
  if (bytes.size() < kIpv6Bytes) return std::nullopt;
  Frame frame{.is_roce_v1 = true,
              .source = address_at(bytes, 8, 16),
              .destination = address_at(bytes, 24, 16),
              .traffic_class = static_cast<std::uint8_t>(load_u16(bytes, 0) >> 4),
              .ip_length = kIpv6Bytes + load_u16(bytes, 4),
              .ip_header = bytes.first(kIpv6Bytes)};
  frame.ib_bytes = load_u16(bytes, 4);
  const ByteView behind = bytes.subspan(kIpv6Bytes);
  frame.trailing_bytes = behind.size() - std::min(behind.size(), frame.ib_bytes);
  if (frame.ib_bytes < kLeastIbBytes) {
    frame.fault = FrameFault::kIpLength;
    frame.ib_bytes = 0;
  }
  frame.ib = behind.first(std::min(behind.size(), frame.ib_bytes));
  return frame;
}

std::uint32_t sum_words(ByteView bytes, std::uint32_t sum) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += load_u16(bytes, i);
  if (bytes.size() % 2 != 0) sum += static_cast<std::uint32_t>(load_u8(bytes, bytes.size() - 1)) << 8;
  return sum;
}

std::uint16_t fold(std::uint32_t sum) {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

}  // namespace

bool Address::is_ipv4() const {
  return std::all_of(octets.begin(), octets.begin() + 10, [](std::uint8_t octet) { return octet == 0; }) &&
         octets[10] == 0xff && octets[11] == 0xff;
}

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.is_ipv4()) {
    inet_ntop(AF_INET, address.octets.data() + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, address.octets.data(), text, sizeof text);
  }
  return text;
}

bool is_supported(int link_type) {
  constexpr LinkType kSupported[] = {LinkType::kEthernet, LinkType::kRaw, LinkType::kRawBsd,
                                     LinkType::kLinuxCooked, LinkType::kLinuxCooked2};
  return std::any_of(std::begin(kSupported), std::end(kSupported),
                     [link_type](LinkType supported) { return static_cast<int>(supported) == link_type; });
}

std::optional<Network> network_of(LinkType link_type, ByteView bytes) {
  switch (link_type) {
    case LinkType::kEthernet:
      return behind_type_at(bytes, 12, kEthernetBytes);
    case LinkType::kLinuxCooked:
      return behind_type_at(bytes, 14, 16);
    case LinkType::kLinuxCooked2:
      return behind_type_at(bytes, 0, 20);
    case LinkType::kRaw:
    case LinkType::kRawBsd:
      if (bytes.empty()) return std::nullopt;
      return Network{.ether_type = (load_u8(bytes, 0) >> 4) == 4 ? kEtherIpv4 : kEtherIpv6, .bytes = bytes};
    case LinkType::kErf:
    case LinkType::kInfiniBand:
      break;
  }
  return std::nullopt;
}

std::optional<Frame> parse_network(const Network& network) {
  switch (network.ether_type) {
    case kEtherIpv4:
      return parse_ipv4(network.bytes);
    case kEtherIpv6:
      return parse_ipv6(network.bytes);
    case kEtherRoceV1:
      return parse_grh(network.bytes);
    default:
      return std::nullopt;
  }
}

std::optional<Frame> parse_frame(LinkType link_type, ByteView bytes) {
  const auto network = network_of(link_type, bytes);
  return network ? parse_network(*network) : std::nullopt;
}

bool ipv4_checksum_is_right(ByteView header) {
  return fold(sum_words(header, 0)) == 0xffff;
}

UdpChecksum judge_udp_checksum(const Frame& frame) {
  if (frame.udp_checksum == 0) return UdpChecksum::kAbsent;
  if (frame.is_cut()) return UdpChecksum::kUnknown;
  const ByteView addresses = frame.is_ipv6 ? frame.ip_header.subspan(8, 32) : frame.ip_header.subspan(12, 8);
  const std::uint32_t pseudo =
      sum_words(addresses, kProtocolUdp + static_cast<std::uint32_t>(frame.udp_length));
  if (fold(sum_words(frame.ib, sum_words(frame.udp_header, pseudo))) == 0xffff) return UdpChecksum::kRight;
  return fold(pseudo) == frame.udp_checksum ? UdpChecksum::kPartial : UdpChecksum::kWrong;
}

}  // namespace urnic::check
