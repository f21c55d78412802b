// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "tests/unit/transport/wire/captured.h"

namespace urnic::transport::wire {
namespace {

using test::Bytes;
using test::operator+;
using test::hex;
using test::slice;
using test::with_u8;

/// BTH to padding of a packet with `payload_bytes` bytes of payload and everything else zero.
Bytes packet_bytes(unsigned opcode, std::size_t payload_bytes) {
  const std::uint8_t pad = pad_bytes(payload_bytes);
  Bytes bytes(header_bytes(static_cast<Opcode>(opcode)) + payload_bytes + pad);
  bytes[0] = static_cast<std::byte>(opcode);
  bytes[1] = static_cast<std::byte>(pad << 4);
  return bytes;
}

std::vector<unsigned> opcodes_that(bool exist) {
  std::vector<unsigned> opcodes;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (info(static_cast<Opcode>(opcode)).exists() == exist) opcodes.push_back(opcode);
  }
  return opcodes;
}

ParseError error_of_packet(const Bytes& bytes) {
  const auto packet = parse_packet(bytes);
  EXPECT_FALSE(packet);
  return packet ? ParseError{0xff} : packet.error();
}

Bytes emitted_headers(const Packet& packet) {
  std::array<std::byte, 64> out;
  out.fill(std::byte{0xcc});
  return slice(out, 0, emit_headers(packet, out));
}

// --- What captured packets say ---

// vs_sizes.pcap, frame 9.
TEST(ParsePacket, LeavesPaddingOutOfThePayload) {
  const Bytes bytes = test::ib_of(test::kSendOfFive);
  const auto packet = parse_packet(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet.value().bth.opcode, Opcode::kRcSendOnly);
  EXPECT_EQ(packet.value().bth.pad_count, 3);
  EXPECT_EQ(slice(packet.value().payload, 0, 5), hex("01080f161d"));
  EXPECT_EQ(packet.value().payload.size(), 5u);
  EXPECT_EQ(packet.value().payload.data(), bytes.data() + 12);
}

// Senders write zeros, and nothing says that a receiver compares them.
TEST(ParsePacket, DoesNotMindWhatPaddingHolds) {
  Bytes bytes = test::ib_of(test::kSendOfFive);
  std::fill(bytes.end() - 3, bytes.end(), std::byte{0xff});
  const auto packet = parse_packet(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(slice(packet.value().payload, 0, packet.value().payload.size()), hex("01080f161d"));
}

// vs_imm_inv.pcap, frame 9: WRITE Only with Immediate of ten bytes.
TEST(ParsePacket, FindsRethImmediateAndPayloadOneBehindTheOther) {
  const Bytes bytes =
      hex("0b20ffff0000002d807b52da 00007f2722114000 00002417 0000000a 00001003"
          "01080f161d242b323940 0000");
  const auto parsed = parse_packet(bytes);
  ASSERT_TRUE(parsed);
  const Packet& packet = parsed.value();
  EXPECT_TRUE(packet.reth == (Reth{.address = 0x7f2722114000, .rkey = Rkey{0x2417}, .length = 10}));
  EXPECT_EQ(slice(std::as_bytes(std::span(&packet.immediate, 1)), 0, 4), hex("00001003"));
  EXPECT_EQ(slice(packet.payload, 0, packet.payload.size()), hex("01080f161d242b323940"));
  EXPECT_EQ(emitted_headers(packet), slice(bytes, 0, 32));
}

// vs_imm_inv.pcap, frame 22: SEND Only with Invalidate.
TEST(ParsePacket, FindsTheKeyToInvalidate) {
  const Bytes bytes = hex("1700ffff0000002d807b52e3 080001d3 01080f161d242b323940474e555c636a");
  const auto packet = parse_packet(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet.value().invalidate_rkey, Rkey{0x080001d3});
  EXPECT_EQ(packet.value().payload.size(), 16u);
  EXPECT_EQ(emitted_headers(packet.value()), slice(bytes, 0, 16));
}

// vs_atomics.pcap, frames 3 and 4: FetchAdd and its ATOMIC Acknowledge.
TEST(ParsePacket, FindsTheOperandsAndTheResultOfAnAtomic) {
  const Bytes add =
      hex("1400ffff0000002e8039d2e7 00007ff404473000 00002658 0102030405060708 0000000000000000");
  const auto request = parse_packet(add);
  ASSERT_TRUE(request);
  EXPECT_TRUE(
      request.value().atomic ==
      (AtomicEth{.address = 0x7ff404473000, .rkey = Rkey{0x2658}, .swap_or_add = 0x0102030405060708}));
  EXPECT_EQ(emitted_headers(request.value()), add);

  const Bytes acknowledge = hex("1200ffff0000002f0039d2e7 1f000002 322b241d160f0801");
  const auto response = parse_packet(acknowledge);
  ASSERT_TRUE(response);
  EXPECT_TRUE(response.value().aeth == (Aeth{.syndrome = 0x1f, .msn = 2}));
  EXPECT_EQ(response.value().atomic_original, 0x322b241d160f0801u);
  EXPECT_EQ(emitted_headers(response.value()), acknowledge);
}

// vs_ud.pcap, frame 6: UD SEND Only with Immediate of thirteen bytes.
TEST(ParsePacket, FindsDethAndImmediate) {
  const Bytes bytes =
      hex("6530ffff0000004300f6e57d 11111111 00 000044 00001005"
          "01080f161d242b323940474e55 000000");
  const auto packet = parse_packet(bytes);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet.value().deth == (Deth{.qkey = 0x11111111, .source_qp = QpNumber{0x44}}));
  EXPECT_EQ(packet.value().payload.size(), 13u);
  EXPECT_EQ(emitted_headers(packet.value()), slice(bytes, 0, 24));
}

// --- Layouts of which there is no capture in pcap_fixtures/ ---

TEST(ParsePacket, FindsXrcethDirectlyBehindTheBth) {
  const Bytes bytes =
      hex("b300ffff00000010 80000001 00abcdef 0000000000001000 00000007 0000000000000001"
          "0000000000000002");
  const auto packet = parse_packet(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet.value().xrc_srq, 0xabcdefu);
  EXPECT_TRUE(packet.value().atomic ==
              (AtomicEth{.address = 0x1000, .rkey = Rkey{7}, .swap_or_add = 1, .compare = 2}));
  EXPECT_EQ(emitted_headers(packet.value()), bytes);
}

TEST(ParsePacket, FindsFethBeforeReth) {
  const Bytes bytes = hex("1c00ffff0000001080000001 00000012 0000000000001000 00000007 00000040");
  const auto packet = parse_packet(bytes);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet.value().feth == (Feth{.placement_type = 2, .selectivity = 1}));
  EXPECT_TRUE(packet.value().reth == (Reth{.address = 0x1000, .rkey = Rkey{7}, .length = 64}));
  EXPECT_EQ(emitted_headers(packet.value()), bytes);
}

// Fact 49: 16 zero bytes after the BTH, BECN set, P_Key 0xffff, PSN 0.
TEST(EmitHeaders, WritesACongestionNotification) {
  EXPECT_EQ(emitted_headers(Packet{.bth = Bth{.opcode = Opcode::kCnp,
                                              .migrated = false,
                                              .becn = true,
                                              .destination_qp = QpNumber{0x118}}}),
            hex("8100ffff4000011800000000 00000000000000000000000000000000"));
}

TEST(ParsePacket, DoesNotMindWhatTheReservedBytesOfACongestionNotificationHold) {
  EXPECT_TRUE(parse_packet(hex("8100ffff4000011800000000 ffffffffffffffffffffffffffffffff")));
}

// --- Lengths ---

TEST(ParsePacket, TakesEveryPayloadLength) {
  for (const unsigned opcode : opcodes_that(true)) {
    if (!info(static_cast<Opcode>(opcode)).has_payload) continue;
    for (const std::size_t size : {0u, 1u, 2u, 3u, 4u, 1023u, 1024u, 1025u, 4095u, 4096u, 4097u}) {
      const Bytes bytes = packet_bytes(opcode, size);
      const auto packet = parse_packet(bytes);
      ASSERT_TRUE(packet) << opcode << ", " << size << " bytes";
      EXPECT_EQ(packet.value().payload.size(), size);
    }
  }
}

TEST(ParsePacket, TakesTheHeadersOfEveryOpcodeAlone) {
  for (const unsigned opcode : opcodes_that(true)) {
    EXPECT_TRUE(parse_packet(packet_bytes(opcode, 0))) << opcode;
  }
}

TEST(ParsePacket, RefusesLessThanABth) {
  const Bytes bytes = test::ib_of(test::kAcknowledge);
  for (std::size_t size = 0; size < Bth::kBytes; ++size) {
    EXPECT_EQ(error_of_packet(slice(bytes, 0, size)), ParseError::kTooShort) << size;
  }
}

TEST(ParsePacket, RefusesLessThanTheHeadersOfTheOpcode) {
  for (const unsigned opcode : opcodes_that(true)) {
    const Bytes whole = packet_bytes(opcode, 0);
    for (std::size_t size = Bth::kBytes; size < whole.size(); ++size) {
      EXPECT_EQ(error_of_packet(slice(whole, 0, size)), ParseError::kTooShort)
          << opcode << ", " << size << " bytes";
    }
  }
}

TEST(ParsePacket, RefusesMorePaddingThanThereAreBytes) {
  const Bytes bytes = packet_bytes(0x04, 0);
  for (unsigned pad = 1; pad <= 3; ++pad) {
    EXPECT_EQ(error_of_packet(with_u8(bytes, 1, pad << 4)), ParseError::kTooShort) << pad;
  }
  EXPECT_TRUE(parse_packet(with_u8(bytes + hex("000000"), 1, 0x30)));
  EXPECT_EQ(error_of_packet(with_u8(bytes + hex("0000"), 1, 0x30)), ParseError::kTooShort);
}

TEST(ParsePacket, RefusesPayloadBehindAnOpcodeThatHasNone) {
  for (const unsigned opcode : opcodes_that(true)) {
    if (info(static_cast<Opcode>(opcode)).has_payload) continue;
    const Bytes bytes = packet_bytes(opcode, 0);
    EXPECT_EQ(error_of_packet(bytes + hex("00000000")), ParseError::kUnexpectedPayload) << opcode;
    EXPECT_EQ(error_of_packet(with_u8(bytes + hex("000000"), 1, 0x30)), ParseError::kUnexpectedPayload)
        << opcode;
  }
}

// --- Refusals ---

TEST(ParsePacket, RefusesEveryTransportVersionButZero) {
  for (unsigned version = 1; version < 16; ++version) {
    EXPECT_EQ(error_of_packet(with_u8(packet_bytes(0x04, 4), 1, version)), ParseError::kBadVersion)
        << version;
  }
}

TEST(ParsePacket, RefusesOpcodesThatDoNotExist) {
  for (const unsigned opcode : opcodes_that(false)) {
    EXPECT_EQ(error_of_packet(with_u8(Bytes(64), 0, opcode)), ParseError::kUnknownOpcode) << opcode;
  }
}

TEST(ParseError, HasANameOfItsOwnForEveryReason) {
  EXPECT_EQ(to_string(ParseError::kTruncated), "truncated");
  EXPECT_EQ(to_string(ParseError::kUnexpectedPayload), "unexpected_payload");
  EXPECT_EQ(to_string(ParseError::kBadIcrc), "bad_icrc");
  EXPECT_EQ(kParseErrors, 13u);
}

// --- Writing ---

TEST(EmitHeaders, WritesAsManyBytesAsItSays) {
  for (const unsigned opcode : opcodes_that(true)) {
    const Packet packet{.bth = Bth{.opcode = static_cast<Opcode>(opcode)}};
    EXPECT_EQ(emitted_headers(packet).size(), header_bytes(packet.bth.opcode)) << opcode;
  }
}

TEST(PadBytes, FillUpToAMultipleOfFour) {
  EXPECT_EQ(pad_bytes(0), 0);
  EXPECT_EQ(pad_bytes(1), 3);
  EXPECT_EQ(pad_bytes(2), 2);
  EXPECT_EQ(pad_bytes(3), 1);
  EXPECT_EQ(pad_bytes(1024), 0);
  EXPECT_EQ(pad_bytes(1025), 3);
}

}  // namespace
}  // namespace urnic::transport::wire
