// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/unit/transport/wire/captured.h"
#include "transport/wire/ethernet.h"
#include "transport/wire/internet_checksum.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::hex;
using test::slice;
using test::with_u16;
using test::with_u8;

template <typename Header>
ParseError error_of_header(const Bytes& bytes) {
  const auto header = Header::parse(bytes);
  EXPECT_FALSE(header);
  return header ? ParseError{0xff} : header.error();
}

template <typename Header>
Bytes emitted_within(const Header& header) {
  Bytes out(64, std::byte{0xcc});
  out.resize(emit(header, out));
  return out;
}

// --- Ethernet ---

TEST(Ethernet, IsThatOfVsSizesFrame1) {
  const auto ethernet = Ethernet::parse(test::kEmptySend);
  ASSERT_TRUE(ethernet);
  EXPECT_EQ(to_string(ethernet.value().destination), "52:54:01:a6:11:75");
  EXPECT_EQ(to_string(ethernet.value().source), "52:54:98:af:40:cf");
  EXPECT_EQ(ethernet.value().ether_type, EtherType::kIpv4);
  EXPECT_EQ(ethernet.value().header_bytes(), 14u);
  EXPECT_EQ(emitted_within(ethernet.value()), slice(test::kEmptySend, 0, 14));
}

TEST(Ethernet, LooksThroughVlanTags) {
  const Bytes bytes = hex("525401a61175 525498af40cf 88a8 6064 8100 b00a 86dd");
  const auto parsed = Ethernet::parse(bytes);
  ASSERT_TRUE(parsed);
  const Ethernet& ethernet = parsed.value();
  EXPECT_EQ(ethernet.vlan_tag_count, 2);
  EXPECT_EQ(ethernet.vlan_tags[0], (VlanTag{.type = EtherType::kServiceVlan, .control = 0x6064}));
  EXPECT_EQ(ethernet.vlan_tags[1], (VlanTag{.type = EtherType::kVlan, .control = 0xb00a}));
  EXPECT_EQ(ethernet.ether_type, EtherType::kIpv6);
  EXPECT_EQ(ethernet.header_bytes(), bytes.size());
  EXPECT_EQ(emitted_within(ethernet), bytes);
}

TEST(Ethernet, StopsAtTheFifthVlanTag) {
  const Bytes bytes = hex("525401a61175 525498af40cf 81000001 81000002 81000003 81000004 81000005 0800");
  const auto ethernet = Ethernet::parse(bytes);
  ASSERT_TRUE(ethernet);
  EXPECT_EQ(ethernet.value().vlan_tag_count, 4);
  EXPECT_EQ(ethernet.value().ether_type, EtherType::kVlan);
}

TEST(Ethernet, RefusesAFrameCutInsideTheHeader) {
  const Bytes bytes = hex("525401a61175 525498af40cf 8100 0001 0800");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(error_of_header<Ethernet>(slice(bytes, 0, size)), ParseError::kTruncated) << size;
  }
  EXPECT_TRUE(Ethernet::parse(bytes));
}

// --- IPv4 ---

Bytes ipv4_packet() {
  return slice(test::kEmptySend, test::kIpAt, test::kEmptySend.size() - test::kIpAt);
}

TEST(Ipv4, IsThatOfVsSizesFrame1) {
  const auto parsed = Ipv4::parse(ipv4_packet());
  ASSERT_TRUE(parsed);
  const Ipv4& ipv4 = parsed.value();
  EXPECT_EQ(ipv4.tos, 0);
  EXPECT_EQ(ipv4.total_length, 44);
  EXPECT_EQ(ipv4.identification, 0x73d4);
  EXPECT_TRUE(ipv4.dont_fragment);
  EXPECT_FALSE(ipv4.is_fragment());
  EXPECT_EQ(ipv4.ttl, 64);
  EXPECT_EQ(ipv4.protocol, IpProtocol::kUdp);
  EXPECT_EQ(to_string(ipv4.source), "10.77.0.2");
  EXPECT_EQ(to_string(ipv4.destination), "10.77.0.3");
  EXPECT_EQ(ipv4.header_bytes(), 20u);
}

// vs_tos.pcap, frame 2; its checksum 0x5e20 is Linux' work.
TEST(Ipv4, IsWrittenWithItsChecksum) {
  EXPECT_EQ(emitted_within(Ipv4{.tos = 0x68,
                                .total_length = 48,
                                .identification = 0xc796,
                                .source = Ipv4Address{{10, 77, 0, 3}},
                                .destination = Ipv4Address{{10, 77, 0, 2}}}),
            hex("45680030c79640004011 5e20 0a4d00030a4d0002"));
}

TEST(Ipv4, KeepsFlagsOffsetAndOptions) {
  // Loose source routing to nowhere, then the end of options.
  const Bytes bytes = hex("47 03 001c 1234 bfff 01 fe d9a6 c0000201 c0000202 8303040000000000");
  const auto parsed = Ipv4::parse(bytes);
  ASSERT_TRUE(parsed);
  const Ipv4& ipv4 = parsed.value();
  EXPECT_TRUE(ipv4.reserved_flag);
  EXPECT_FALSE(ipv4.dont_fragment);
  EXPECT_TRUE(ipv4.more_fragments);
  EXPECT_EQ(ipv4.fragment_offset, 0x1fff);
  EXPECT_TRUE(ipv4.is_fragment());
  EXPECT_EQ(ipv4.protocol, IpProtocol{0xfe});
  EXPECT_EQ(slice(ipv4.options, 0, ipv4.options.size()), hex("8303040000000000"));
  EXPECT_EQ(emitted_within(ipv4), bytes);
}

TEST(Ipv4, RefusesAPacketShorterThanItSays) {
  for (std::size_t size = 0; size < ipv4_packet().size(); ++size) {
    EXPECT_EQ(error_of_header<Ipv4>(slice(ipv4_packet(), 0, size)), ParseError::kTruncated) << size;
  }
}

TEST(Ipv4, RefusesAHeaderThatContradictsItself) {
  const auto changed = [](std::size_t at, unsigned value) {
    return slice(test::with_ipv4_checksum(with_u8(test::kEmptySend, test::kIpAt + at, value)), test::kIpAt,
                 44);
  };
  EXPECT_TRUE(Ipv4::parse(changed(0, 0x45)));
  EXPECT_EQ(error_of_header<Ipv4>(changed(0, 0x55)), ParseError::kBadIpHeader);  // version 5
  EXPECT_EQ(error_of_header<Ipv4>(changed(0, 0x44)), ParseError::kBadIpHeader);  // 16 bytes of header
  EXPECT_EQ(error_of_header<Ipv4>(changed(3, 19)), ParseError::kBadIpHeader);    // shorter than its header
  EXPECT_EQ(error_of_header<Ipv4>(changed(3, 45)), ParseError::kTruncated);
}

TEST(Ipv4, RefusesEverySingleFlippedBit) {
  const Bytes packet = ipv4_packet();
  for (std::size_t bit = 0; bit < Ipv4::kMinBytes * 8; ++bit) {
    Bytes changed = packet;
    changed[bit / 8] ^= static_cast<std::byte>(0x80u >> bit % 8);
    EXPECT_FALSE(Ipv4::parse(changed)) << bit;
  }
}

// Zero has two forms in one's complement; routers that update checksums in place send either (RFC 1624).
TEST(Ipv4, AcceptsAChecksumOf0xffffWhereItIsZero) {
  Bytes bytes = with_u16(slice(test::kEmptySend, test::kIpAt, 44), 10, 0);
  // 0x73d4 + 0xb24e in one's complement: the identification takes up what the checksum held.
  bytes = with_u16(bytes, 4, 0x2623);
  EXPECT_EQ(ipv4_header_checksum(slice(bytes, 0, 20)), 0);
  EXPECT_TRUE(Ipv4::parse(bytes));
  EXPECT_TRUE(Ipv4::parse(with_u16(bytes, 10, 0xffff)));
}

// --- IPv6 ---

TEST(Ipv6, IsThatOfVsUdIpv6Frame1) {
  const Bytes packet = slice(test::kUdSendIpv6, test::kIpAt, 80);
  const auto parsed = Ipv6::parse(packet);
  ASSERT_TRUE(parsed);
  const Ipv6& ipv6 = parsed.value();
  EXPECT_EQ(ipv6.traffic_class, 0);
  EXPECT_EQ(ipv6.flow_label, 0u);
  EXPECT_EQ(ipv6.payload_length, 40);
  EXPECT_EQ(ipv6.next_header, IpProtocol::kUdp);
  EXPECT_EQ(ipv6.hop_limit, 64);
  EXPECT_EQ(to_string(ipv6.source), "fd77::2");
  EXPECT_EQ(to_string(ipv6.destination), "fd77::3");
  EXPECT_EQ(emitted_within(ipv6), slice(packet, 0, 40));
}

TEST(Ipv6, KeepsTrafficClassAndFlowLabelApart) {
  const auto first_word = [](const Ipv6& ipv6) { return slice(emitted_within(ipv6), 0, 4); };
  EXPECT_EQ(first_word(Ipv6{.traffic_class = 0xff}), hex("6ff00000"));
  EXPECT_EQ(first_word(Ipv6{.flow_label = 0xfffff}), hex("600fffff"));
  EXPECT_EQ(first_word(Ipv6{.flow_label = 0xfff00000}), hex("60000000"));
  const auto parsed = Ipv6::parse(with_u16(slice(test::kUdSendIpv6, test::kIpAt, 80), 0, 0x6ab5));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed.value().traffic_class, 0xab);
  EXPECT_EQ(parsed.value().flow_label, 0x50000u);
}

TEST(Ipv6, RefusesOtherVersionsAndCutPackets) {
  const Bytes packet = slice(test::kUdSendIpv6, test::kIpAt, 80);
  EXPECT_EQ(error_of_header<Ipv6>(with_u8(packet, 0, 0x40)), ParseError::kBadIpHeader);
  for (std::size_t size = 0; size < packet.size(); ++size) {
    EXPECT_EQ(error_of_header<Ipv6>(slice(packet, 0, size)), ParseError::kTruncated) << size;
  }
}

// --- UDP ---

TEST(Udp, IsThatOfVsSizesFrame1) {
  const auto udp = Udp::parse(slice(test::kEmptySend, test::kUdpAtIpv4, 24));
  ASSERT_TRUE(udp);
  EXPECT_EQ(udp.value().source_port, 51132);
  EXPECT_EQ(udp.value().destination_port, 4791);
  EXPECT_EQ(udp.value().length, 24);
  EXPECT_EQ(udp.value().checksum, 0);
  EXPECT_EQ(emitted_within(udp.value()), slice(test::kEmptySend, test::kUdpAtIpv4, 8));
}

TEST(Udp, RefusesALengthThatIsNotThatOfTheIpPayload) {
  const Bytes datagram = slice(test::kEmptySend, test::kUdpAtIpv4, 24);
  for (const unsigned length : {0u, 7u, 8u, 23u, 25u, 0xffffu}) {
    EXPECT_EQ(error_of_header<Udp>(with_u16(datagram, 4, length)), ParseError::kBadUdpLength) << length;
  }
  EXPECT_EQ(error_of_header<Udp>(slice(datagram, 0, 7)), ParseError::kTruncated);
}

// tshark 4.0 finds the checksums 0xc918 and 0x311b right in these frames.
TEST(UdpChecksum, IsRightZeroOrWrong) {
  const auto ipv4 =
      Ipv4::parse(slice(test::kSendOfFive, test::kIpAt, test::kSendOfFive.size() - test::kIpAt));
  const Bytes datagram4 =
      slice(test::kSendOfFive, test::kUdpAtIpv4, test::kSendOfFive.size() - test::kUdpAtIpv4);
  EXPECT_TRUE(udp_checksum_ok(ipv4.value(), datagram4));
  EXPECT_TRUE(udp_checksum_ok(ipv4.value(), with_u16(datagram4, 6, 0xc918)));
  EXPECT_FALSE(udp_checksum_ok(ipv4.value(), with_u16(datagram4, 6, 0xc919)));
  EXPECT_FALSE(udp_checksum_ok(ipv4.value(), with_u16(datagram4, 6, 0x18c9)));

  const auto ipv6 = Ipv6::parse(slice(test::kUdSendIpv6, test::kIpAt, 80));
  const Bytes datagram6 = slice(test::kUdSendIpv6, test::kUdpAtIpv6, 40);
  EXPECT_TRUE(udp_checksum_ok(ipv6.value(), datagram6));
  EXPECT_TRUE(udp_checksum_ok(ipv6.value(), with_u16(datagram6, 6, 0x311b)));
  EXPECT_FALSE(udp_checksum_ok(ipv6.value(), with_u16(datagram6, 6, 0x311c)));
}

// --- The Internet checksum ---

// RFC 1071 section 3: these words add up to 0xddf2, so the checksum is its complement.
TEST(InternetChecksum, IsThatOfTheExampleInRfc1071) {
  const Bytes bytes = hex("0001f203f4f5f6f7");
  InternetChecksum checksum;
  checksum.add(bytes);
  EXPECT_EQ(checksum.value(), 0x220d);
  checksum.add(hex("220d"));
  EXPECT_TRUE(checksum.is_right());
}

TEST(InternetChecksum, FillsAnOddLastByteUpWithZero) {
  for (std::size_t size = 0; size <= 9; ++size) {
    Bytes bytes = slice(hex("ff01fe02fd03fc04fb"), 0, size);
    InternetChecksum as_is;
    as_is.add(bytes);
    bytes.resize((size + 1) / 2 * 2);
    InternetChecksum filled;
    filled.add(bytes);
    EXPECT_EQ(as_is.value(), filled.value()) << size;
  }
}

}  // namespace
}  // namespace urnic::transport::wire
