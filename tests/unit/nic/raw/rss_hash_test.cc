// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The hash of RSS against numbers that are not ours: Microsoft's verification suite ("Verifying the RSS Hash
// Calculation", Windows driver documentation), which hardware is checked against, too.
#include "nic/raw/rss_hash.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "tests/unit/nic/raw/flow_frame.h"

namespace urnic::nic {
namespace {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;

constexpr std::array<unsigned, 40> kMicrosoftKey{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                                 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                                 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                                 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

ToeplitzKey key() {
  ToeplitzKey result;
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::byte>(kMicrosoftKey[i]);
  return result;
}

constexpr HashFields kIpv4 = HashFields::kSourceIpv4 | HashFields::kDestinationIpv4;
constexpr HashFields kIpv6 = HashFields::kSourceIpv6 | HashFields::kDestinationIpv6;
constexpr HashFields kTcp = HashFields::kSourceTcpPort | HashFields::kDestinationTcpPort;
constexpr HashFields kUdp = HashFields::kSourceUdpPort | HashFields::kDestinationUdpPort;

FlowHeaders headers(PortProtocol protocol, std::uint16_t source, std::uint16_t destination) {
  FlowHeaders result;
  result.is_ethernet = true;
  result.ports = {.protocol = protocol, .source = source, .destination = destination};
  return result;
}

std::uint32_t hash(HashFields fields, const FlowHeaders& headers) {
  return RssHash(key(), fields).of(headers);
}

TEST(RssHash, IsMicrosoftsForIpv4) {
  struct Vector {
    const char* destination;
    std::uint16_t destination_port;
    const char* source;
    std::uint16_t source_port;
    std::uint32_t of_addresses;
    std::uint32_t with_ports;
  };
  constexpr Vector kVectors[] = {{"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
                                 {"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
                                 {"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
                                 {"209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f},
                                 {"202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2}};
  for (const Vector& vector : kVectors) {
    for (const PortProtocol protocol : {PortProtocol::kTcp, PortProtocol::kUdp}) {
      FlowHeaders frame = headers(protocol, vector.source_port, vector.destination_port);
      frame.ipv4.emplace();
      frame.ipv4->source = Ipv4Address::parse(vector.source).value();
      frame.ipv4->destination = Ipv4Address::parse(vector.destination).value();
      const bool is_tcp = protocol == PortProtocol::kTcp;
      EXPECT_EQ(hash(kIpv4, frame), vector.of_addresses) << vector.source;
      EXPECT_EQ(hash(kIpv4 | kIpv6 | (is_tcp ? kTcp : kUdp), frame), vector.with_ports) << vector.source;
      EXPECT_EQ(hash(kIpv4 | (is_tcp ? kUdp : kTcp), frame), vector.of_addresses)
          << "ports of the other protocol";
    }
  }
}

TEST(RssHash, IsMicrosoftsForIpv6) {
  struct Vector {
    const char* destination;
    std::uint16_t destination_port;
    const char* source;
    std::uint16_t source_port;
    std::uint32_t of_addresses;
    std::uint32_t with_ports;
  };
  constexpr Vector kVectors[] = {
      {"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
      {"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
      {"fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4b61e985,
       0x02d1feef}};
  for (const Vector& vector : kVectors) {
    FlowHeaders frame = headers(PortProtocol::kTcp, vector.source_port, vector.destination_port);
    frame.ipv6.emplace();
    frame.ipv6->source = Ipv6Address::parse(vector.source).value();
    frame.ipv6->destination = Ipv6Address::parse(vector.destination).value();
    EXPECT_EQ(hash(kIpv6, frame), vector.of_addresses) << vector.source;
    EXPECT_EQ(hash(kIpv4 | kIpv6 | kTcp, frame), vector.with_ports) << vector.source;
  }
}

// A bit of the input adds the key from its own place on, whatever the others are.
TEST(RssHash, LeavesOutWhatIsNotNamed) {
  FlowHeaders frame = headers(PortProtocol::kTcp, 2794, 1766);
  frame.ipv4.emplace();
  frame.ipv4->source = {{0x80, 0, 0, 0}};
  frame.ipv4->destination = {{0, 0, 0, 1}};
  EXPECT_EQ(hash(HashFields::kSourceIpv4, frame), 0x6d5a56dau) << "the first 32 bits of the key";
  EXPECT_EQ(hash(HashFields::kDestinationIpv4, frame), toeplitz_hash(key(), bytes_of({0, 0, 0, 1})));
  EXPECT_EQ(hash(HashFields::kSourceTcpPort, frame), toeplitz_hash(key(), bytes_of({0x0a, 0xea})));
  EXPECT_EQ(hash(HashFields::kDestinationTcpPort, frame), toeplitz_hash(key(), bytes_of({0x06, 0xe6})));
  EXPECT_EQ(hash(kTcp, frame), toeplitz_hash(key(), bytes_of({0x0a, 0xea, 0x06, 0xe6})));
}

TEST(RssHash, IsNothingForAFrameWithoutTheFields) {
  EXPECT_EQ(hash(kIpv4 | kTcp, FlowHeaders{}), 0u);
  EXPECT_EQ(hash(kIpv6, FlowHeaders::read(udp_over_ipv4())), 0u);
  EXPECT_EQ(hash(HashFields::kNone, FlowHeaders::read(udp_over_ipv4())), 0u);
  EXPECT_NE(hash(kIpv4, FlowHeaders::read(udp_over_ipv4())), 0u);
}

// All of the key is used: the last bit of the longest input meets its last bit.
TEST(RssHash, HasRoomForTheLongestInput) {
  std::array<std::byte, 36> longest{};
  longest.back() = std::byte{1};
  // Bits 287 to 318 of the key, worked out by hand from its last five octets: the low bit of 3b, then
  // be ac 01 fa.
  EXPECT_EQ(toeplitz_hash(key(), longest), 0xdf5600fdu);
}

}  // namespace
}  // namespace urnic::nic
