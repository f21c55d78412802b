// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The checker's own reading of frames, packets and opcodes.
#include "tools/conformance/check/packets/packet.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/packets/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::check::test {
namespace {

// Two people wrote the two tables; where they agree it is no slip of one.
TEST(OpcodeTable, AgreesWithTheProductsOwn) {
  std::size_t known = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeInfo& ours = info_of(static_cast<std::uint8_t>(opcode));
    const auto& theirs = transport::wire::info(static_cast<transport::wire::Opcode>(opcode));
    const bool exists = theirs.operation != transport::wire::Operation::kNone;
    EXPECT_EQ(ours.is_known(), exists) << opcode;
    if (exists && ours.operation != Operation::kCnp) {  // whose 16 bytes are a payload here, a header there
      ++known;
      EXPECT_EQ(ours.header_bytes(),
                transport::wire::header_bytes(static_cast<transport::wire::Opcode>(opcode)))
          << name_of(static_cast<std::uint8_t>(opcode));
      EXPECT_EQ(ours.has_payload, theirs.has_payload) << name_of(static_cast<std::uint8_t>(opcode));
    }
  }
  EXPECT_GT(known, 50u);
}

TEST(OpcodeTable, NamesEveryOpcodeDifferently) {
  std::set<std::string> names;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    EXPECT_TRUE(names.insert(name_of(static_cast<std::uint8_t>(opcode))).second) << opcode;
  }
}

TEST(PsnDistance, IsSignedAroundTheWholeCircle) {
  EXPECT_EQ(distance(Psn(0xffffff), Psn(0)), 1);
  EXPECT_EQ(distance(Psn(0), Psn(0xffffff)), -1);
  EXPECT_EQ(distance(Psn(5), Psn(5)), 0);
  EXPECT_EQ(distance(Psn(0), Psn(0x7fffff)), 0x7fffff);
  EXPECT_EQ(distance(Psn(0), Psn(0x800000)), -0x800000);
  EXPECT_EQ(Psn(0xffffff) + 2, Psn(1));
  EXPECT_EQ(Psn(1) + -2, Psn(0xffffff));
}

// The table of fact 35.
TEST(RnrTimer, IsLongestForCodeZero) {
  EXPECT_EQ(rnr_timer_ns(0), 655'360'000);
  EXPECT_EQ(rnr_timer_ns(1), 10'000);
  EXPECT_EQ(rnr_timer_ns(14), 1'280'000);
  EXPECT_EQ(rnr_timer_ns(20), 10'240'000);
  EXPECT_EQ(rnr_timer_ns(31), 491'520'000);
}

TEST(Syndrome, IsToldApartByItsBits) {
  EXPECT_EQ(kind_of(0x00), AnswerKind::kAck);
  EXPECT_EQ(kind_of(0x1f), AnswerKind::kAck);
  EXPECT_EQ(kind_of(0x20), AnswerKind::kRnrNak);
  EXPECT_EQ(kind_of(0x3f), AnswerKind::kRnrNak);
  EXPECT_EQ(kind_of(0x40), AnswerKind::kReserved);
  EXPECT_EQ(kind_of(0x60), AnswerKind::kSequenceNak);
  EXPECT_EQ(kind_of(0x61), AnswerKind::kFatalNak);
  EXPECT_EQ(kind_of(0x64), AnswerKind::kFatalNak);
  EXPECT_EQ(kind_of(0x65), AnswerKind::kReserved);
  EXPECT_EQ(kind_of(0x80), AnswerKind::kReserved);
  EXPECT_EQ(kind_of(0xff), AnswerKind::kReserved);
}

class ParsedFrame : public testing::Test {
 protected:
  /// Frame 11 of vs_sizes: a SEND Only of 1023 bytes with one byte of padding.
  Capture capture_ = Capture::fixture("vs_sizes");
  CapturedFrame& frame_ = capture_[11];
};

TEST_F(ParsedFrame, HasThePayloadThatItsLengthsAnnounce) {
  const auto frame = parse_frame(LinkType::kEthernet, frame_.bytes);
  ASSERT_TRUE(frame);
  const Packet packet = parse_packet(*frame);
  EXPECT_EQ(packet.fault, PacketFault::kNone);
  EXPECT_EQ(packet.payload_bytes, 1023u);
  EXPECT_EQ(packet.payload.size(), 1023u);
  EXPECT_EQ(packet.padding.size(), 1u);
  EXPECT_EQ(packet.psn, Psn(0x476eda));
  EXPECT_EQ(packet.destination_qp, 0x2cu);
  EXPECT_TRUE(packet.ack_requested);
}

TEST_F(ParsedFrame, CutAnywhereIsUnderstoodAsFarAsItGoes) {
  for (std::size_t size = 0; size < frame_.bytes.size(); ++size) {
    const auto frame = parse_frame(LinkType::kEthernet, std::span(frame_.bytes).first(size));
    if (!frame) {
      EXPECT_LT(size, 14u + 20 + 8);
      continue;
    }
    EXPECT_TRUE(frame->is_cut());
    EXPECT_FALSE(judge_icrc(*frame));
    if (frame->ib.size() >= kBthBytes) {
      const Packet packet = parse_packet(*frame);
      EXPECT_EQ(packet.payload_bytes, 1023u);
      EXPECT_LE(packet.payload.size(), 1023u);
    }
  }
}

TEST_F(ParsedFrame, IsFoundBehindVlanTagsAndOnOtherLinks) {
  auto tagged = frame_.bytes;
  const std::vector<std::byte> tag = {std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{5}};
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  const auto in_vlan = parse_frame(LinkType::kEthernet, tagged);
  ASSERT_TRUE(in_vlan);
  EXPECT_TRUE(judge_icrc(*in_vlan)->is_right());

  const auto raw = parse_frame(LinkType::kRaw, std::span(frame_.bytes).subspan(14));
  ASSERT_TRUE(raw);
  EXPECT_TRUE(judge_icrc(*raw)->is_right());
}

TEST(UdpChecksumOf, AFrameIsRightWrongAbsentOrPartial) {
  Capture capture = Capture::fixture("vs_tos");
  auto& bytes = capture[1].bytes;
  const auto judge = [&bytes](unsigned checksum) {
    bytes[14 + 20 + 6] = static_cast<std::byte>(checksum >> 8);
    bytes[14 + 20 + 7] = static_cast<std::byte>(checksum & 0xff);
    return judge_udp_checksum(*parse_frame(LinkType::kEthernet, bytes));
  };
  EXPECT_EQ(judge(0), UdpChecksum::kAbsent);
  std::set<UdpChecksum> verdicts;
  std::size_t right = 0;
  std::size_t partial = 0;
  for (unsigned checksum = 1; checksum <= 0xffff; ++checksum) {
    const UdpChecksum verdict = judge(checksum);
    right += verdict == UdpChecksum::kRight ? 1 : 0;
    partial += verdict == UdpChecksum::kPartial ? 1 : 0;
  }
  EXPECT_EQ(right, 1u);
  EXPECT_EQ(partial, 1u);
}

}  // namespace
}  // namespace urnic::check::test
