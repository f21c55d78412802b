// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/unreliable_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace urnic::sim {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::uint32_t kFlowMtu = 256;
constexpr std::array<std::byte, 2 * kFlowMtu> kTwoPayloads{};

WireView packet(std::uint32_t psn, bool first, bool last, std::size_t size) {
  return {.psn = psn,
          .kind = PacketKind::kSend,
          .is_first = first,
          .is_last = last,
          .source_qp = 7,
          .payload = std::span(kTwoPayloads).first(size)};
}

class UnreliableFlowTest : public ::testing::Test {
 protected:
  UnreliableFlow connection_{
      {.mtu_bytes = kFlowMtu, .first_psn = 0xffffff, .qp_number = 7, .without_neighbor = {}}};
  UnreliableFlow datagrams_{
      {.is_datagram = true, .mtu_bytes = kFlowMtu, .first_psn = 5, .qp_number = 7, .without_neighbor = {}}};
};

TEST_F(UnreliableFlowTest, AcceptsAMessageAcrossTheWrapOfPsns) {
  EXPECT_THAT(connection_.on_sent(packet(0xffffff, true, false, kFlowMtu)), Eq(std::nullopt));
  EXPECT_THAT(connection_.on_sent(packet(0, false, true, 1)), Eq(std::nullopt));
  EXPECT_THAT(connection_.on_sent(packet(1, true, true, 0)), Eq(std::nullopt));
}

TEST_F(UnreliableFlowTest, ComplainsAboutAPsnThatIsNotTheNext) {
  EXPECT_THAT(connection_.on_sent(packet(0, true, true, 1)), Optional(HasSubstr("0xffffff was due")));
}

TEST_F(UnreliableFlowTest, APsnMayBeSkippedWhereNeighborsAreNotFoundAndNoneComesTwice) {
  std::uint64_t dropped = 3;
  UnreliableFlow flow(
      {.is_datagram = true, .first_psn = 5, .qp_number = 7, .without_neighbor = [&] { return dropped; }});
  EXPECT_THAT(flow.on_sent(packet(8, true, true, 1)), Eq(std::nullopt));
  dropped = 4;
  EXPECT_THAT(flow.on_sent(packet(10, true, true, 1)), Eq(std::nullopt));
  EXPECT_THAT(flow.on_sent(packet(12, true, true, 1)), Optional(HasSubstr("was due"))) << "four were dropped";
  dropped = 1000;
  EXPECT_THAT(flow.on_sent(packet(10, true, true, 1)), Optional(HasSubstr("was due"))) << "it was sent";
}

TEST_F(UnreliableFlowTest, ComplainsAboutAMessageInsideAnother) {
  EXPECT_THAT(connection_.on_sent(packet(0xffffff, true, false, kFlowMtu)), Eq(std::nullopt));
  EXPECT_THAT(connection_.on_sent(packet(0, true, true, 1)), Optional(HasSubstr("outside its message")));
}

TEST_F(UnreliableFlowTest, ComplainsAboutAFirstPacketThatIsNotFull) {
  EXPECT_THAT(connection_.on_sent(packet(0xffffff, true, false, kFlowMtu - 1)),
              Optional(HasSubstr("not full")));
}

TEST_F(UnreliableFlowTest, ComplainsAboutADatagramLongerThanTheMtu) {
  EXPECT_THAT(datagrams_.on_sent(packet(5, true, true, kFlowMtu + 1)),
              Optional(HasSubstr("more than the MTU")));
}

TEST_F(UnreliableFlowTest, ComplainsAboutAMessageThatIsBegunInSqd) {
  EXPECT_THAT(connection_.on_sent(packet(0xffffff, true, false, kFlowMtu)), Eq(std::nullopt));
  connection_.on_draining(true);
  EXPECT_TRUE(connection_.is_inside_message());
  EXPECT_THAT(connection_.on_sent(packet(0, false, true, 1)), Eq(std::nullopt));
  EXPECT_FALSE(connection_.is_inside_message());
  EXPECT_THAT(connection_.on_sent(packet(1, true, true, 1)), Optional(HasSubstr("in SQD")));
}

TEST_F(UnreliableFlowTest, AcceptsMessagesAgainBehindSqd) {
  connection_.on_draining(true);
  connection_.on_draining(false);
  EXPECT_THAT(connection_.on_sent(packet(0xffffff, true, true, 1)), Eq(std::nullopt));
}

TEST_F(UnreliableFlowTest, ComplainsAboutAckReq) {
  WireView asking = packet(5, true, true, 1);
  asking.ack_request = true;
  EXPECT_THAT(datagrams_.on_sent(asking), Optional(HasSubstr("AckReq")));
}

}  // namespace
}  // namespace urnic::sim
