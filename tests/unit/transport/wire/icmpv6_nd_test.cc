// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/icmpv6_nd.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/unit/transport/wire/captured.h"
#include "transport/wire/internet_checksum.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::operator+;
using test::hex;
using test::slice;
using test::with_u16;
using test::with_u8;

// arp_nd_linux.pcap, frame 9, from the IPv6 header on: fd09::1 asks for fd09::2.
const Bytes kSolicitationBytes =
    hex("6000000000203aff fd090000000000000000000000000001 ff0200000000000000000001ff000002"
        "87007d8500000000 fd090000000000000000000000000002 0101020000000001");
// Frame 10: the answer.
const Bytes kAdvertisementBytes =
    hex("6000000000203aff fd090000000000000000000000000002 fd090000000000000000000000000001"
        "88001c7f60000000 fd090000000000000000000000000002 0201020000000002");
// Frame 1: duplicate address detection, with an option of type 14 (a nonce) and no source address.
const Bytes kProbeBytes =
    hex("6000000000203aff 00000000000000000000000000000000 ff0200000000000000000001ff000002"
        "8700b9f900000000 fe80000000000000000000fffe000002 0e01d6280785d772");

Ipv6Address address(std::string_view text) {
  return Ipv6Address::parse(text).value();
}

const NeighborMessage kSolicitation{.type = NeighborMessage::Type::kSolicitation,
                                    .source = address("fd09::1"),
                                    .destination = address("ff02::1:ff00:2"),
                                    .target = address("fd09::2"),
                                    .link_layer_address = Mac{{2, 0, 0, 0, 0, 1}}};
const NeighborMessage kAdvertisement{.type = NeighborMessage::Type::kAdvertisement,
                                     .solicited = true,
                                     .replaces = true,
                                     .source = address("fd09::2"),
                                     .destination = address("fd09::1"),
                                     .target = address("fd09::2"),
                                     .link_layer_address = Mac{{2, 0, 0, 0, 0, 2}}};
const NeighborMessage kProbe{.type = NeighborMessage::Type::kSolicitation,
                             .destination = address("ff02::1:ff00:2"),
                             .target = address("fe80::ff:fe00:2")};

constexpr std::size_t kIcmpAt = 40;

/// Makes length and checksum right, so that a test spoils only what it means to.
Bytes repaired(Bytes packet) {
  const auto size = static_cast<std::uint32_t>(packet.size() - kIcmpAt);
  packet = with_u16(with_u16(packet, 4, size), kIcmpAt + 2, 0);
  InternetChecksum checksum;
  checksum.add(std::span(packet).subspan(8, 32));
  checksum.add(std::span(packet).subspan(kIcmpAt));
  checksum.add(hex("0000"));
  Bytes tail = with_u16(hex("00000000 0000003a"), 2, size);
  checksum.add(tail);
  return with_u16(packet, kIcmpAt + 2, checksum.value());
}

Bytes emitted(const NeighborMessage& message) {
  Bytes out(NeighborMessage::kMaxBytes, std::byte{0xcc});
  out.resize(emit(message, out));
  return out;
}

TEST(NeighborMessage, ReadsWhatLinuxSent) {
  EXPECT_EQ(NeighborMessage::parse(kSolicitationBytes), kSolicitation);
  EXPECT_EQ(NeighborMessage::parse(kAdvertisementBytes), kAdvertisement);
}

TEST(NeighborMessage, WritesWhatLinuxSent) {
  EXPECT_EQ(emitted(kSolicitation), kSolicitationBytes);
  EXPECT_EQ(emitted(kAdvertisement), kAdvertisementBytes);
}

TEST(NeighborMessage, SkipsOptionsItDoesNotKnow) {
  EXPECT_EQ(NeighborMessage::parse(kProbeBytes), kProbe);
  // A target option says nothing in a solicitation, and an 8-byte address is not a MAC.
  EXPECT_EQ(NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, 64, 2)))->link_layer_address,
            std::nullopt);
  EXPECT_EQ(
      NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, 65, 2) + Bytes(8)))->link_layer_address,
      std::nullopt);
}

TEST(NeighborMessage, FindsTheLinkLayerAddressBehindOtherOptions) {
  const Bytes bytes =
      slice(kSolicitationBytes, 0, 64) + slice(kProbeBytes, 64, 8) + slice(kSolicitationBytes, 64, 8);
  EXPECT_EQ(NeighborMessage::parse(repaired(bytes)), kSolicitation);
}

TEST(NeighborMessage, GoesWithoutALinkLayerAddress) {
  NeighborMessage message = kAdvertisement;
  message.router = true;
  message.link_layer_address.reset();
  const Bytes bytes = emitted(message);
  EXPECT_EQ(bytes, repaired(with_u8(slice(kAdvertisementBytes, 0, 64), 44, 0xe0)));
  EXPECT_EQ(NeighborMessage::parse(bytes), message);
}

TEST(NeighborMessage, DoesNotMindEthernetPadding) {
  EXPECT_EQ(NeighborMessage::parse(kSolicitationBytes + Bytes(6)), kSolicitation);
}

TEST(NeighborMessage, RefusesACutPacket) {
  for (std::size_t size = 0; size < kSolicitationBytes.size(); ++size) {
    EXPECT_EQ(NeighborMessage::parse(slice(kSolicitationBytes, 0, size)), std::nullopt) << size;
  }
}

TEST(NeighborMessage, RefusesWhatARouterMayHaveForwarded) {
  EXPECT_EQ(NeighborMessage::parse(with_u8(kSolicitationBytes, 7, 254)), std::nullopt);
}

TEST(NeighborMessage, RefusesAWrongChecksum) {
  for (std::size_t at = 8; at < kSolicitationBytes.size(); ++at) {
    Bytes bytes = kSolicitationBytes;
    bytes[at] ^= std::byte{0x10};
    EXPECT_EQ(NeighborMessage::parse(bytes), std::nullopt) << at;
  }
}

TEST(NeighborMessage, RefusesOtherTypesCodesAndProtocols) {
  ASSERT_EQ(NeighborMessage::parse(repaired(kSolicitationBytes)), kSolicitation);
  EXPECT_EQ(NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, kIcmpAt, 133))), std::nullopt);
  EXPECT_EQ(NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, kIcmpAt, 137))), std::nullopt);
  EXPECT_EQ(NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, kIcmpAt + 1, 1))), std::nullopt);
  EXPECT_EQ(NeighborMessage::parse(with_u8(kSolicitationBytes, 6, 17)), std::nullopt);
}

TEST(NeighborMessage, RefusesOptionsThatDoNotFit) {
  EXPECT_EQ(NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, 65, 0))), std::nullopt);
  EXPECT_EQ(NeighborMessage::parse(repaired(with_u8(kSolicitationBytes, 65, 2))), std::nullopt);
  EXPECT_EQ(NeighborMessage::parse(repaired(kSolicitationBytes + Bytes(4))), std::nullopt);
  EXPECT_EQ(NeighborMessage::parse(repaired(slice(kSolicitationBytes, 0, 60))), std::nullopt);
}

// RFC 4861 section 7.1.1.
TEST(NeighborMessage, RefusesSolicitationsThatContradictThemselves) {
  const auto parsed = [](auto change) {
    NeighborMessage message = kProbe;
    change(message);
    return NeighborMessage::parse(emitted(message));
  };
  EXPECT_NE(parsed([](NeighborMessage&) {}), std::nullopt);
  EXPECT_EQ(parsed([](NeighborMessage& probe) { probe.target = address("ff02::1"); }), std::nullopt);
  EXPECT_EQ(parsed([](NeighborMessage& probe) { probe.link_layer_address = Mac{}; }), std::nullopt);
  EXPECT_EQ(parsed([](NeighborMessage& probe) { probe.destination = address("ff02::1"); }), std::nullopt);
  EXPECT_EQ(parsed([](NeighborMessage& probe) { probe.destination = address("fe80::1"); }), std::nullopt);
}

// RFC 4861 section 7.1.2.
TEST(NeighborMessage, RefusesAnAdvertisementToAGroupThatClaimsToBeAnAnswer) {
  NeighborMessage message = kAdvertisement;
  message.destination = address("ff02::1");
  EXPECT_EQ(NeighborMessage::parse(emitted(message)), std::nullopt);
  message.solicited = false;
  EXPECT_EQ(NeighborMessage::parse(emitted(message)), message);
}

}  // namespace
}  // namespace urnic::transport::wire
