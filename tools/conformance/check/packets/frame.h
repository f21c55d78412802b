// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The outer half of a captured frame: link layer, IP and UDP around an InfiniBand packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/check/packets/byte_view.h"

namespace urnic::check {

inline constexpr std::uint16_t kRocePort = 4791;

/// An IP address or GID. IPv4 addresses are kept as ::ffff:a.b.c.d (fact 11).
struct Address {
  std::array<std::uint8_t, 16> octets{};

  bool is_ipv4() const;
  friend bool operator==(const Address&, const Address&) = default;
};
std::string to_string(const Address& address);

/// Why the packet inside cannot be looked at.
enum class FrameFault : std::uint8_t {
  kNone,
  kIpLength,   ///< the IP length does not fit the frame or its own header
  kUdpLength,  ///< the UDP length does not fit the IP length, or has no room for BTH and ICRC
  kFragment,   ///< the first fragment of a datagram: RoCEv2 is never fragmented
};

/// Views into the captured bytes, which must outlive it.
struct Frame {
  FrameFault fault = FrameFault::kNone;
  bool is_roce_v1 = false;
  bool is_ipv6 = false;  ///< of RoCEv2; a GRH is neither
  Address source;
  Address destination;
  std::uint8_t traffic_class = 0;
  std::uint16_t ip_id = 0;  ///< IPv4 only
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t udp_checksum = 0;
  std::size_t ip_length = 0;   ///< as the IP header says, header included, in bytes
  std::size_t udp_length = 0;  ///< as the UDP header says, in bytes
  ByteView ip_header{};        ///< IPv4 with options, IPv6 without extension headers, or GRH
  ByteView ip_extensions{};    ///< the extension headers of IPv6
  ByteView udp_header{};       ///< empty in RoCEv1
  ByteView ib{};               ///< BTH to ICRC, as far as captured
  std::size_t ib_bytes = 0;    ///< BTH to ICRC, as the headers say
  std::size_t trailing_bytes =
      0;  ///< captured after the datagram: Ethernet padding, or a frame check sequence

  bool is_cut() const { return ib.size() < ib_bytes; }
};

/// ECN: CE, which a switch sets where a queue is long.
constexpr bool is_marked(const Frame& frame) {
  constexpr unsigned kEcnBits = 3;
  return (frame.traffic_class & kEcnBits) == kEcnBits;
}

/// The link types that can be read, with libpcap's numbers.
enum class LinkType : int {
  kEthernet = 1,
  kRaw = 101,
  kRawBsd = 12,
  kLinuxCooked = 113,
  kErf = 197,         ///< cannot be read as such: the reader opens its records
  kInfiniBand = 247,  ///< cannot be read: InfiniBand itself, without Ethernet
  kLinuxCooked2 = 276
};
bool is_supported(int link_type);

/// What a link layer carries, VLAN tags taken off.
struct Network {
  std::uint16_t ether_type = 0;
  ByteView bytes{};
};
/// Nothing if the frame is too short, or of a link type that cannot be read.
std::optional<Network> network_of(LinkType link_type, ByteView bytes);
std::optional<Frame> parse_network(const Network& network);

inline constexpr std::uint16_t kEtherRoceV1 = 0x8915;
inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanBytes = 4;

/// Takes a frame apart down to BTH. Nothing when it holds no UDP and no RoCEv1, or was captured too short to
/// tell; it is up to the caller to look at the destination port. Tunnels are not looked into: unwrapping/ is
/// for that.
std::optional<Frame> parse_frame(LinkType link_type, ByteView bytes);

/// Whether the checksum of an IPv4 header is right. Header with options, 20 bytes at least.
bool ipv4_checksum_is_right(ByteView header);

enum class UdpChecksum : std::uint8_t {
  kAbsent,
  kRight,
  kWrong,
  kPartial,  ///< of the pseudo header only: captured on the sender, before its NIC completed it
  kUnknown,  ///< the capture does not have all the bytes
};
UdpChecksum judge_udp_checksum(const Frame& frame);

}  // namespace urnic::check
