// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// When the responder acknowledges, and what it says then (facts 18, 19 and 20).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcResponderAck : public RcTest {
 protected:
  RcResponderAck() {
    connect();
    post_receives({1, 2, 3, 4, 5, 6, 7, 8});
  }
};

TEST_F(RcResponderAck, AcknowledgesWhenAsked) {
  peer_sends(write_only(Psn(100), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

TEST_F(RcResponderAck, IsSilentWhenNotAsked) {
  peer_sends(write_only(Psn(100), payload(1)).asking_for_ack(false));
  peer_sends(send_only(Psn(101), payload(1)).asking_for_ack(false));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

// Fact 20: the MSN counts requests, asked for or not.
TEST_F(RcResponderAck, CountsRequestsThatDidNotAsk) {
  peer_sends(write_only(Psn(100), payload(1)).asking_for_ack(false));
  peer_sends(send_only(Psn(101), payload(1)).asking_for_ack(false));
  peer_sends(write_only(Psn(102), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 3)));
}

// Fact 20.
TEST_F(RcResponderAck, CarriesTheOldMsnInsideAMessage) {
  peer_sends(send_only(Psn(100), payload(1)));
  sent();
  const auto packets = write_message(Psn(101), payload(3000), kMtu);
  peer_sends(packets[0].asking_for_ack());
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(101), 1)));
  peer_sends(packets[1].asking_for_ack());
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
  peer_sends(packets[2]);
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(103), 2)));
}

// Fact 20: READ when it begins to be answered.
TEST_F(RcResponderAck, CountsAReadInItsFirstResponse) {
  peer_sends(write_only(Psn(100), payload(1)));
  sent();
  arrives(read_request(Psn(101), 2000));
  EXPECT_EQ(poll_one()->msn, 2u);
}

TEST_F(RcResponderAck, CountsEveryRequestOnce) {
  for (std::uint32_t i = 0; i < 300; ++i) {
    peer_sends(write_only(Psn(100 + i), payload(1)));
    EXPECT_THAT(sent(), ElementsAre(ack(Psn(100 + i), i + 1)));
  }
  EXPECT_EQ(endpoint_.msn(), 300u);
}

// One ACK says everything about a burst.
TEST_F(RcResponderAck, AcknowledgesABurstOnce) {
  peer_sends(
      {write_only(Psn(100), payload(1)), send_only(Psn(101), payload(1)), write_only(Psn(102), payload(1))});
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 3)));
}

TEST_F(RcResponderAck, AcknowledgesAtLeastWhatWasAskedForInABurst) {
  peer_sends({write_only(Psn(100), payload(1)), write_only(Psn(101), payload(1)).asking_for_ack(false)});
  const auto packets = sent();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_GE(distance(Psn(100), packets[0].psn), 0);
  EXPECT_LE(distance(packets[0].psn, Psn(101)), 1);
}

TEST_F(RcResponderAck, AcknowledgesABurstOfDuplicates) {
  const auto packets = write_message(Psn(100), payload(4000), kMtu);
  peer_sends(packets);
  sent();
  peer_sends(packets);
  const auto answers = sent();
  ASSERT_FALSE(answers.empty());
  EXPECT_THAT(answers, ::testing::Each(ack(Psn(103), 1)));
}

// The ACK of what came before a gap is in its NAK; if both leave, the ACK is first.
TEST_F(RcResponderAck, NaksAGapBehindRequestsThatAskedForAnAck) {
  peer_sends({write_only(Psn(100), payload(1)), write_only(Psn(102), payload(1))});
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets.back(), nak(Nak::kSequenceError, Psn(101), 1));
  if (packets.size() > 1) {
    EXPECT_EQ(packets.front(), ack(Psn(100), 1));
  }
}

// A NAK must not overtake or swallow what is acknowledged after the gap closed.
TEST_F(RcResponderAck, AcknowledgesWhatClosesAGapInTheSameBurst) {
  peer_sends(
      {write_only(Psn(101), payload(1)), write_only(Psn(100), payload(1)), write_only(Psn(101), payload(1))});
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets.back(), ack(Psn(101), 2));
}

TEST_F(RcResponderAck, HasAPendingResponseUntilTheAckIsSent) {
  EXPECT_FALSE(endpoint_.has_pending_response());
  arrives(write_only(Psn(100), payload(1)));
  EXPECT_TRUE(endpoint_.has_pending_response());
  poll_one();
  EXPECT_FALSE(endpoint_.has_pending_response());
}

TEST_F(RcResponderAck, HasNoPendingAckForARequestThatDidNotAsk) {
  arrives(write_only(Psn(100), payload(1)).asking_for_ack(false));
  EXPECT_FALSE(endpoint_.has_pending_response());
}

// The receive completes with the packet, and its ACK is pending at that moment.
TEST_F(RcResponderAck, HasAPendingAckWhenTheReceiveCompletes) {
  arrives(send_only(Psn(100), payload(1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_TRUE(endpoint_.has_pending_response());
}

// Neither side of a busy connection starves the other.
TEST_F(RcResponderAck, AcknowledgesAmidItsOwnRequests) {
  arrives(write_only(Psn(100), payload(1)));
  for (std::uint64_t i = 0; i < 8; ++i) post_quietly(send_wr(i, 10));
  const auto first = poll_one();
  const auto second = poll_one();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(*first == ack(Psn(100), 1) || *second == ack(Psn(100), 1));
}

TEST_F(RcResponderAck, LetsRequestsLeaveAmidTheResponsesOfALongRead) {
  arrives(read_request(Psn(100), 20000));
  post_quietly(send_wr(1, 10));
  drain();
  const auto packets = sent();
  const auto request = std::find_if(packets.begin(), packets.end(),
                                    [](const QpPacket& packet) { return packet.psn == Psn(200); });
  ASSERT_NE(request, packets.end());
  EXPECT_LT(request - packets.begin(), 3) << "it follows so many responses";
}

}  // namespace
}  // namespace urnic::transport::test
