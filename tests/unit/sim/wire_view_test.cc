// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/core/wire_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/opcode.h"

namespace urnic::sim {
namespace {

using ::testing::HasSubstr;

std::vector<test::CapturedFrame> capture(const std::string& name) {
  return test::read_pcap(test::fixtures() / name).value();
}

constexpr std::size_t kBth = 14 + 20 + 8;

/// A captured frame with the one bit that rxe sets otherwise than we do (fact 15), and its ICRC.
std::vector<std::byte> as_we_would_send_it(std::vector<std::byte> frame) {
  frame[kBth + 1] |= std::byte{0x40};
  const std::uint32_t icrc =
      check::judge_icrc(check::parse_frame(check::LinkType::kEthernet, frame).value())->expected;
  for (std::size_t i = 0; i < 4; ++i) frame[frame.size() - 4 + i] = static_cast<std::byte>(icrc >> (8 * i));
  return frame;
}

// As tshark prints frame 3 of the capture.
TEST(WireView, ReadsASendAsTsharkDoes) {
  const auto frames = capture("vs_rnr.pcap");  // the packet's payload is a view of it
  const auto packet = read_frame(frames[2].bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(check::name_of(packet->opcode), "RC SEND Only");
  EXPECT_EQ(packet->destination_qp, 0x32u);
  EXPECT_EQ(packet->psn, 7007336u);
  EXPECT_TRUE(packet->ack_request);
  EXPECT_FALSE(packet->solicited);
  ASSERT_EQ(packet->payload.size(), 100u);
  EXPECT_EQ(packet->payload[1], std::byte{0x08});
}

TEST(WireView, ReadsARnrNak) {
  const auto packet = read_frame(capture("vs_rnr.pcap")[1].bytes);
  ASSERT_TRUE(packet);
  EXPECT_TRUE(packet->is_rnr_nak());
  EXPECT_FALSE(packet->is_request());
}

TEST(WireView, HasNothingToSayAboutAFrameAsItShouldBe) {
  std::string complaint;
  EXPECT_TRUE(read_frame(as_we_would_send_it(capture("vs_rnr.pcap")[0].bytes), &complaint));
  EXPECT_EQ(complaint, "");
}

TEST(WireView, ComplainsAboutMigReqZero) {
  std::string complaint;
  read_frame(capture("vs_rnr.pcap")[0].bytes, &complaint);
  EXPECT_THAT(complaint, HasSubstr("MigReq"));
}

TEST(WireView, ComplainsAboutAWrongIcrc) {
  auto frame = as_we_would_send_it(capture("vs_rnr.pcap")[0].bytes);
  frame[kBth + 40] ^= std::byte{1};
  std::string complaint;
  read_frame(frame, &complaint);
  EXPECT_THAT(complaint, HasSubstr("ICRC"));
}

TEST(WireView, ComplainsAboutALengthThatDoesNotFit) {
  auto frame = as_we_would_send_it(capture("vs_rnr.pcap")[0].bytes);
  frame.pop_back();
  std::string complaint;
  EXPECT_FALSE(read_frame(frame, &complaint));
  EXPECT_THAT(complaint, HasSubstr("UDP length"));
}

TEST(WireView, ComplainsAboutPaddingThatIsNotZero) {
  // Frame 3 of vs_sizes is a SEND of one byte: three bytes of padding in front of the ICRC.
  auto frame = as_we_would_send_it(capture("vs_sizes.pcap")[2].bytes);
  frame[frame.size() - 5] = std::byte{7};
  std::string complaint;
  read_frame(frame, &complaint);
  EXPECT_THAT(complaint, HasSubstr("padding is not zero"));
}

/// An XRC SEND of "abcd" to shared receive queue 0xabcdef, put together by hand, its ICRC by an independent
/// program: there is no capture of one.
constexpr std::array<std::uint8_t, 66> kXrcSend = {
    0x52, 0x54, 0x01, 0xa6, 0x11, 0x75, 0x52, 0x54, 0x98, 0xaf, 0x40, 0xcf, 0x08, 0x00, 0x45, 0x00, 0x00,
    0x34, 0x73, 0xd4, 0x40, 0x00, 0x40, 0x11, 0xb2, 0x46, 0x0a, 0x4d, 0x00, 0x02, 0x0a, 0x4d, 0x00, 0x03,
    0xc7, 0xbc, 0x12, 0xb7, 0x00, 0x20, 0x00, 0x00, 0xa4, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x2c, 0x80,
    0x47, 0x6e, 0xd5, 0x00, 0xab, 0xcd, 0xef, 0x61, 0x62, 0x63, 0x64, 0xc9, 0xc8, 0xc6, 0x04};

TEST(WireView, ReadsAnXrcSend) {
  std::string complaint;
  const auto packet = read_frame(std::as_bytes(std::span(kXrcSend)), &complaint);
  ASSERT_TRUE(packet);
  EXPECT_EQ(complaint, "");
  EXPECT_EQ(packet->service, WireService::kXrc);
  EXPECT_TRUE(packet->is_reliable());
  EXPECT_EQ(packet->kind, PacketKind::kSend);
  EXPECT_EQ(packet->xrc_srq, 0xabcdefu);
  ASSERT_EQ(packet->payload.size(), 4u);
  EXPECT_EQ(packet->payload[0], std::byte{'a'});
}

TEST(WireView, ComplainsAboutReservedBitsInTheXrceth) {
  auto frame = kXrcSend;
  frame[kBth + 12] = 1;
  std::string complaint;
  read_frame(std::as_bytes(std::span(frame)), &complaint);
  EXPECT_THAT(complaint, HasSubstr("XRCETH"));
}

/// A frame around these InfiniBand bytes, as we would send it.
std::vector<std::byte> frame_around(std::span<const std::uint8_t> ib) {
  std::vector<std::byte> frame;
  for (std::size_t i = 0; i < kBth; ++i) frame.push_back(std::byte{kXrcSend[i]});
  for (const std::uint8_t byte : ib) frame.push_back(std::byte{byte});
  frame.resize(frame.size() + 4);
  const std::size_t udp_bytes = 8 + ib.size() + 4;
  frame[17] = static_cast<std::byte>(20 + udp_bytes);
  frame[39] = static_cast<std::byte>(udp_bytes);
  // The IPv4 header is as much longer as its checksum is less.
  const unsigned more = static_cast<unsigned>(20 + udp_bytes) - kXrcSend[17];
  const unsigned checksum = (unsigned{kXrcSend[24]} << 8 | kXrcSend[25]) - more;
  frame[24] = static_cast<std::byte>(checksum >> 8);
  frame[25] = static_cast<std::byte>(checksum);
  return as_we_would_send_it(std::move(frame));
}

/// To queue pair 0x2c: E is PSN 0x476ed5, the packets 1, 9 and 256 ahead of it are held, MSN 0x010203.
constexpr std::array<std::uint8_t, 48> kSelectiveNak = {
    0xd1, 0x40, 0xff, 0xff, 0, 0, 0, 0x2c, 0, 0x47, 0x6e, 0xd5,  // BTH
    0x60, 1,    2,    3,                                         // AETH
    1,    1,    0,    0,    0, 0, 0, 0,    0, 0,    0,    0,    0, 0, 0, 0,
    0,    0,    0,    0,    0, 0, 0, 0,    0, 0,    0,    0,    0, 0, 0, 0x80};

TEST(WireView, ReadsASelectiveNak) {
  const auto frame = frame_around(kSelectiveNak);
  std::string complaint;
  const auto packet = read_frame(frame, &complaint);
  ASSERT_TRUE(packet);
  EXPECT_EQ(complaint, "");
  EXPECT_TRUE(packet->is_selective_nak);
  EXPECT_TRUE(packet->is_sequence_nak());
  EXPECT_TRUE(packet->is_reliable());
  EXPECT_FALSE(packet->is_request());
  EXPECT_EQ(packet->destination_qp, 0x2cu);
  EXPECT_EQ(packet->psn, 0x476ed5u);
  EXPECT_EQ(packet->msn, 0x010203u);
  for (std::uint32_t ahead = 1; ahead <= WireView::kHeldPackets; ++ahead) {
    EXPECT_EQ(packet->holds(ahead), ahead == 1 || ahead == 9 || ahead == 256) << ahead;
  }
  EXPECT_THAT(to_string(*packet), HasSubstr("holds 1 9 256"));
}

TEST(WireView, ComplainsAboutASelectiveNakOfTheWrongSize) {
  const auto frame = frame_around(std::span(kSelectiveNak).first(44));
  std::string complaint;
  EXPECT_FALSE(read_frame(frame, &complaint));
  EXPECT_THAT(complaint, HasSubstr("a selective NAK of 48 bytes"));
}

TEST(WireView, ComplainsAboutASelectiveNakThatAsksForAnAck) {
  auto bytes = kSelectiveNak;
  bytes[8] = 0x80;
  const auto frame = frame_around(bytes);
  std::string complaint;
  read_frame(frame, &complaint);
  EXPECT_THAT(complaint, HasSubstr("SE or AckReq"));
}

TEST(WireView, DoesNotTakeArpForRoce) {
  for (const auto& frame : capture("arp_nd_linux.pcap")) EXPECT_FALSE(is_roce(frame.bytes));
}

}  // namespace
}  // namespace urnic::sim
