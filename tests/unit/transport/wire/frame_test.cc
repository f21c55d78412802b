// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/frame.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <variant>

#include "tests/unit/transport/wire/captured.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::operator+;
using test::hex;
using test::kBthAtIpv4;
using test::kIpAt;
using test::kUdpAtIpv4;
using test::kUdpAtIpv6;
using test::slice;
using test::with_ipv4_checksum;
using test::with_u16;
using test::with_u8;

ParseError error_of_frame(const Bytes& bytes) {
  const auto frame = parse_frame(bytes);
  EXPECT_FALSE(frame);
  return frame ? ParseError{0xff} : frame.error();
}

Bytes emitted(const Frame& frame) {
  Bytes out(2048, std::byte{0xcc});
  out.resize(emit_frame(frame, out));
  return out;
}

/// A frame over IPv4 with this many bytes after the UDP header; its lengths and IP checksum are right.
Bytes frame_with_udp_payload(std::size_t size) {
  Bytes bytes = slice(test::kEmptySend, 0, kBthAtIpv4) + Bytes(size);
  bytes = with_u16(bytes, kIpAt + 2, static_cast<unsigned>(28 + size));
  bytes = with_u16(bytes, kUdpAtIpv4 + 4, static_cast<unsigned>(8 + size));
  return with_ipv4_checksum(bytes);
}

// --- Taking apart ---

TEST(ParseFrame, TakesACapturedIpv4FrameApart) {
  const auto parsed = parse_frame(test::kSendOfFive);
  ASSERT_TRUE(parsed);
  const Frame& frame = parsed.value();
  EXPECT_TRUE(frame.is_ipv4());
  EXPECT_EQ(to_string(frame.ethernet.source), "52:54:98:af:40:cf");
  EXPECT_EQ(to_string(frame.source_gid()), "::ffff:10.77.0.2");
  EXPECT_EQ(to_string(frame.destination_gid()), "::ffff:10.77.0.3");
  EXPECT_EQ(frame.udp.source_port, 51132);
  EXPECT_EQ(slice(frame.ib, 0, frame.ib.size()), hex("0430ffff0000002c80476ed9 01080f161d 000000"));
  EXPECT_EQ(frame.icrc, 0xb45b33cbu);
  EXPECT_TRUE(frame.icrc_ok());
  EXPECT_EQ(frame.outer_headers.size(), 28u);
  EXPECT_EQ(frame.used_bytes, 66u);
  EXPECT_TRUE(frame.ethernet_padding.empty());
}

TEST(ParseFrame, TakesACapturedIpv6FrameApart) {
  const auto parsed = parse_frame(test::kUdSendIpv6);
  ASSERT_TRUE(parsed);
  const Frame& frame = parsed.value();
  EXPECT_FALSE(frame.is_ipv4());
  EXPECT_EQ(to_string(frame.source_gid()), "fd77::2");
  EXPECT_EQ(to_string(frame.destination_gid()), "fd77::3");
  EXPECT_EQ(frame.ib.size(), 28u);
  EXPECT_TRUE(frame.icrc_ok());
  EXPECT_EQ(frame.outer_headers.size(), 48u);
  EXPECT_EQ(frame.used_bytes, test::kUdSendIpv6.size());
}

TEST(ParseIpPacket, TakesWhatIsBehindTheEthernetHeaderApartAsParseFrameDoes) {
  for (const Bytes& captured : {test::kSendOfFive, test::kUdSendIpv6}) {
    const Bytes packet = slice(captured, kIpAt, captured.size() - kIpAt);
    const auto parsed = parse_ip_packet(packet);
    ASSERT_TRUE(parsed);
    const Frame whole = parse_frame(captured).value();
    const Frame& frame = parsed.value();
    EXPECT_EQ(frame.source_gid(), whole.source_gid());
    EXPECT_EQ(frame.destination_gid(), whole.destination_gid());
    EXPECT_EQ(frame.udp.source_port, whole.udp.source_port);
    EXPECT_EQ(slice(frame.ib, 0, frame.ib.size()), slice(whole.ib, 0, whole.ib.size()));
    EXPECT_TRUE(frame.icrc_ok());
    EXPECT_EQ(frame.used_bytes, packet.size());
    EXPECT_EQ(frame.ethernet.source, Mac{});
  }
}

TEST(ParseIpPacket, RefusesWhatIsNoIpPacketOrCutAnywhere) {
  EXPECT_EQ(parse_ip_packet({}).error(), ParseError::kNotIp);
  EXPECT_EQ(parse_ip_packet(hex("5500 0000")).error(), ParseError::kNotIp);
  for (const Bytes& captured : {test::kSendOfFive, test::kUdSendIpv6}) {
    const Bytes packet = slice(captured, kIpAt, captured.size() - kIpAt);
    for (std::size_t size = 0; size < packet.size(); ++size)
      EXPECT_FALSE(parse_ip_packet(slice(packet, 0, size)));
  }
}

// Fact 4: Ethernet pads this 58-byte frame to 60.
TEST(ParseFrame, GoesByTheUdpLengthNotTheFrames) {
  for (const std::size_t padding : {1u, 2u, 64u}) {
    const Bytes bytes = test::kEmptySend + Bytes(padding, std::byte{0xee});
    const auto frame = parse_frame(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame.value().ib.size(), 12u);
    EXPECT_TRUE(frame.value().icrc_ok());
    EXPECT_EQ(frame.value().used_bytes, test::kEmptySend.size());
    EXPECT_EQ(frame.value().ethernet_padding.size(), padding);
    EXPECT_EQ(emitted(frame.value()), bytes);
  }
}

TEST(ParseFrame, LooksThroughVlanTags) {
  Bytes tags;
  for (std::size_t count = 1; count <= 4; ++count) {
    tags = tags + hex("8100 e001");
    const Bytes bytes =
        slice(test::kUdSendIpv6, 0, 12) + tags + slice(test::kUdSendIpv6, 12, test::kUdSendIpv6.size() - 12);
    const auto frame = parse_frame(bytes);
    ASSERT_TRUE(frame) << count;
    EXPECT_EQ(frame.value().ethernet.vlan_tag_count, count);
    EXPECT_TRUE(frame.value().icrc_ok());
    EXPECT_EQ(emitted(frame.value()), bytes);
  }
}

// vs_sizes.pcap, frame 1, with a router alert put in and the ICRC that the independent checker of the
// captures gives.
TEST(ParseFrame, ToleratesIpv4Options) {
  const Bytes bytes =
      hex("525401a61175 525498af40cf 0800"
          "4600003073d4400040111d460a4d00020a4d000394040000 c7bc12b700180000"
          "0400ffff0000002c80476ed5 0b8082a0");
  const auto frame = parse_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(std::get<Ipv4>(frame.value().ip).options.size(), 4u);
  EXPECT_TRUE(frame.value().icrc_ok());
  EXPECT_EQ(emitted(frame.value()), bytes);
}

TEST(ParseFrame, TakesTheShortestDatagramThatHasABthAndAnIcrc) {
  EXPECT_TRUE(parse_frame(frame_with_udp_payload(16)));
  for (std::size_t size = 0; size < 16; ++size) {
    EXPECT_EQ(error_of_frame(frame_with_udp_payload(size)), ParseError::kTooShort) << size;
  }
}

TEST(Frame, KnowsAWrongIcrc) {
  for (std::size_t at = kBthAtIpv4; at < test::kSendOfFive.size(); ++at) {
    Bytes bytes = test::kSendOfFive;
    bytes[at] ^= std::byte{0x01};
    const auto frame = parse_frame(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame.value().icrc_ok(), at == kBthAtIpv4 + 4) << at;
  }
}

TEST(ParseFrame, TakesARoceV1FrameApart) {
  const Bytes padding(3, std::byte{0x77});
  const Bytes bytes = test::kRoceV1Send + padding;
  const auto parsed = parse_frame(bytes);
  ASSERT_TRUE(parsed);
  const Frame& frame = parsed.value();
  EXPECT_EQ(frame.encapsulation, Encapsulation::kRoceV1);
  EXPECT_FALSE(frame.is_ipv4());
  EXPECT_EQ(to_string(frame.source_gid()), "::ffff:10.77.0.2");
  EXPECT_EQ(to_string(frame.destination_gid()), "::ffff:10.77.0.3");
  EXPECT_EQ(frame.outer_headers.size(), 40u);
  EXPECT_EQ(slice(frame.ib, 0, frame.ib.size()), test::ib_of(test::kSendOfFive));
  EXPECT_EQ(frame.used_bytes, test::kRoceV1Send.size());
  EXPECT_EQ(slice(frame.ethernet_padding, 0, 3), padding);
  EXPECT_TRUE(frame.icrc_ok());
  EXPECT_EQ(icrc_of(frame), frame.icrc);
  EXPECT_EQ(emitted(frame), bytes);
}

// --- Refusals ---

TEST(ParseFrame, RefusesAFrameCutAnywhere) {
  for (const Bytes& whole : {test::kEmptySend, test::kUdSendIpv6, test::kRoceV1Send}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(error_of_frame(slice(whole, 0, size)), ParseError::kTruncated) << size;
    }
  }
}

TEST(ParseFrame, RefusesOtherEtherTypes) {
  for (const unsigned type : {0x0806u, 0x88ccu, 0x002cu, 0x0000u}) {
    EXPECT_EQ(error_of_frame(with_u16(test::kEmptySend, 12, type)), ParseError::kNotIp) << type;
  }
  const Bytes five_tags = hex("8100000181000001810000018100000181000001");
  EXPECT_EQ(error_of_frame(slice(test::kEmptySend, 0, 12) + five_tags + slice(test::kEmptySend, 12, 46)),
            ParseError::kNotIp);
}

TEST(ParseFrame, RefusesBadIpHeaders) {
  EXPECT_EQ(error_of_frame(with_u8(test::kEmptySend, kIpAt + 11, 0x4f)), ParseError::kBadIpHeader);
  EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u8(test::kEmptySend, kIpAt, 0x65))),
            ParseError::kBadIpHeader);
  EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u8(test::kEmptySend, kIpAt, 0x42))),
            ParseError::kBadIpHeader);
  EXPECT_EQ(error_of_frame(with_u8(test::kUdSendIpv6, kIpAt, 0x45)), ParseError::kBadIpHeader);
}

TEST(ParseFrame, RefusesAGrhThatIsNone) {
  constexpr std::size_t kPayloadLengthAt = kIpAt + 4;
  constexpr std::size_t kNextHeaderAt = kIpAt + 6;
  EXPECT_EQ(error_of_frame(with_u8(test::kRoceV1Send, kIpAt, 0x45)), ParseError::kBadIpHeader);
  EXPECT_EQ(error_of_frame(with_u8(test::kRoceV1Send, kNextHeaderAt, 17)), ParseError::kNotRoce);
  EXPECT_EQ(error_of_frame(with_u16(test::kRoceV1Send, kPayloadLengthAt, 25)), ParseError::kTruncated);
  EXPECT_EQ(error_of_frame(with_u16(test::kRoceV1Send, kPayloadLengthAt, 0xffff)), ParseError::kTruncated);
  EXPECT_EQ(error_of_frame(with_u16(test::kRoceV1Send, kPayloadLengthAt, 15)), ParseError::kTooShort);
  EXPECT_EQ(error_of_frame(with_u16(test::kRoceV1Send, kPayloadLengthAt, 0)), ParseError::kTooShort);
  EXPECT_TRUE(parse_frame(with_u16(test::kRoceV1Send, kPayloadLengthAt, 16))) << "room for a BTH and an ICRC";
}

TEST(ParseFrame, RefusesFragments) {
  EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u16(test::kEmptySend, kIpAt + 6, 0x2000))),
            ParseError::kFragment);
  EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u16(test::kEmptySend, kIpAt + 6, 0x0001))),
            ParseError::kFragment);
  EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u16(test::kEmptySend, kIpAt + 6, 0x3fff))),
            ParseError::kFragment);
  EXPECT_TRUE(parse_frame(with_ipv4_checksum(with_u16(test::kEmptySend, kIpAt + 6, 0x0000))));
}

TEST(ParseFrame, RefusesOtherProtocolsAndExtensionHeaders) {
  EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u8(test::kEmptySend, kIpAt + 9, 6))), ParseError::kNotUdp);
  constexpr unsigned kHopByHop = 0;
  constexpr unsigned kRouting = 43;
  constexpr unsigned kFragment = 44;
  constexpr unsigned kDestinationOptions = 60;
  for (const unsigned next : {kHopByHop, kRouting, kFragment, kDestinationOptions, 58u, 59u}) {
    EXPECT_EQ(error_of_frame(with_u8(test::kUdSendIpv6, kIpAt + 6, next)), ParseError::kNotUdp) << next;
  }
}

TEST(ParseFrame, RefusesOtherPorts) {
  EXPECT_EQ(error_of_frame(with_u16(test::kEmptySend, kUdpAtIpv4 + 2, 4790)), ParseError::kNotRoce);
  EXPECT_EQ(error_of_frame(with_u16(test::kUdSendIpv6, kUdpAtIpv6 + 2, 53)), ParseError::kNotRoce);
}

// Fact 9: a ConnectX sends some packets from port 0.
TEST(ParseFrame, DoesNotMindTheSourcePort) {
  EXPECT_TRUE(parse_frame(with_u16(test::kEmptySend, kUdpAtIpv4, 0)));
  EXPECT_TRUE(parse_frame(with_u16(test::kEmptySend, kUdpAtIpv4, 53)));
}

TEST(ParseFrame, RefusesUdpLengthsThatDisagreeWithIp) {
  for (const unsigned length : {0u, 7u, 23u, 25u, 0xffffu}) {
    EXPECT_EQ(error_of_frame(with_u16(test::kEmptySend, kUdpAtIpv4 + 4, length)), ParseError::kBadUdpLength)
        << length;
    EXPECT_EQ(error_of_frame(with_u16(test::kUdSendIpv6, kUdpAtIpv6 + 4, length)), ParseError::kBadUdpLength)
        << length;
  }
}

TEST(ParseFrame, RefusesAnIpPacketTooShortForUdp) {
  for (unsigned size = 20; size < 28; ++size) {
    EXPECT_EQ(error_of_frame(with_ipv4_checksum(with_u16(test::kEmptySend, kIpAt + 2, size))),
              ParseError::kTruncated);
  }
  EXPECT_EQ(error_of_frame(with_u16(test::kUdSendIpv6, kIpAt + 4, 7)), ParseError::kTruncated);
}

// Fact 10; tshark 4.0 finds these two checksums right.
TEST(ParseFrame, TakesAUdpChecksumThatIsZeroOrRight) {
  EXPECT_TRUE(parse_frame(with_u16(test::kSendOfFive, kUdpAtIpv4 + 6, 0xc918)));
  EXPECT_EQ(error_of_frame(with_u16(test::kSendOfFive, kUdpAtIpv4 + 6, 0xc917)), ParseError::kBadUdpChecksum);
  EXPECT_TRUE(parse_frame(with_u16(test::kUdSendIpv6, kUdpAtIpv6 + 6, 0x311b)));
  EXPECT_EQ(error_of_frame(with_u16(test::kUdSendIpv6, kUdpAtIpv6 + 6, 0xffff)), ParseError::kBadUdpChecksum);
}

// --- Putting together ---

TEST(EmitFrame, WritesACapturedFrameFromItsFields) {
  const Bytes ib = hex("0430ffff0000002c80476ed9 01080f161d 000000");
  Frame frame{.ethernet = Ethernet{.destination = *Mac::parse("52:54:01:a6:11:75"),
                                   .source = *Mac::parse("52:54:98:af:40:cf"),
                                   .ether_type = EtherType::kIpv4},
              .ip = Ipv4{.identification = 0x73d8,
                         .source = *Ipv4Address::parse("10.77.0.2"),
                         .destination = *Ipv4Address::parse("10.77.0.3")},
              .udp = Udp{.source_port = 51132},
              .ib = ib};
  frame.icrc = icrc_of(frame);
  EXPECT_EQ(emitted(frame), test::kSendOfFive);
}

TEST(EmitFrame, WritesACapturedIpv6FrameFromItsFields) {
  const Bytes ib = hex("6430ffff000000400094aa19 1111111100000041 01080f161d 000000");
  Frame frame{
      .ethernet = Ethernet{.destination = *Mac::parse("52:54:01:a6:11:75"),
                           .source = *Mac::parse("52:54:98:af:40:cf"),
                           .ether_type = EtherType::kIpv6},
      .ip = Ipv6{.source = *Ipv6Address::parse("fd77::2"), .destination = *Ipv6Address::parse("fd77::3")},
      .udp = Udp{.source_port = 0xf4fa},
      .ib = ib};
  frame.icrc = icrc_of(frame);
  EXPECT_EQ(emitted(frame), test::kUdSendIpv6);
}

TEST(EmitFrame, WritesARoceV1FrameFromItsFields) {
  const Bytes ib = test::ib_of(test::kSendOfFive);
  Frame frame{.ethernet = Ethernet{.destination = *Mac::parse("52:54:01:a6:11:75"),
                                   .source = *Mac::parse("52:54:98:af:40:cf"),
                                   .ether_type = EtherType::kRoceV1},
              .encapsulation = Encapsulation::kRoceV1,
              .ip = Ipv6{.next_header = IpProtocol::kBth,
                         .source = *Ipv6Address::parse("::ffff:10.77.0.2"),
                         .destination = *Ipv6Address::parse("::ffff:10.77.0.3")},
              .ib = ib};
  frame.icrc = icrc_of(frame);
  EXPECT_EQ(emitted(frame), test::kRoceV1Send);
}

TEST(EmitFrame, WritesNothingWhereThereIsNoRoom) {
  const auto frame = parse_frame(test::kSendOfFive);
  ASSERT_TRUE(frame);
  Bytes out(test::kSendOfFive.size() - 1, std::byte{0xcc});
  EXPECT_EQ(emit_frame(frame.value(), out), 0u);
  EXPECT_EQ(out, Bytes(out.size(), std::byte{0xcc}));
}

TEST(EmitFrame, WritesNothingThatIsTooLongForIp) {
  constexpr std::size_t kLongestIb = 65535 - 20 - 8 - 4;
  const Bytes ib(kLongestIb + 1);
  Bytes out(70000);
  Frame frame{.ip = Ipv4{}, .ib = std::span(ib).first(kLongestIb)};
  EXPECT_EQ(emit_frame(frame, out), 14u + 65535u);
  frame.ib = ib;
  EXPECT_EQ(emit_frame(frame, out), 0u);
}

}  // namespace
}  // namespace urnic::transport::wire
