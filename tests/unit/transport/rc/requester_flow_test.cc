// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How much the requester has under way: window, READs in flight, fence, AckReq.
#include <algorithm>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RcRequesterFlow : public RcTest {
 protected:
  static Bytes local_pattern(std::uint64_t offset, std::size_t size) {
    return pattern(kLocalAddress + offset, size);
  }
};

TEST_F(RcRequesterFlow, SendsNoMoreThanAWindow) {
  config_.window_packets = 8;
  connect();
  post(write_wr(1, 20 * kMtu));
  EXPECT_EQ(sent().size(), 8u);
}

TEST_F(RcRequesterFlow, SendsAsMuchAsIsAcknowledged) {
  config_.window_packets = 8;
  connect();
  post(write_wr(1, 20 * kMtu));
  sent();
  peer_sends(ack(Psn(202)));
  const auto packets = sent();
  ASSERT_THAT(packets, SizeIs(3));
  EXPECT_EQ(packets[0].psn, Psn(208));
  EXPECT_EQ(packets[0].payload, local_pattern(8 * kMtu, kMtu));
}

TEST_F(RcRequesterFlow, CountsTheWindowOverSeveralMessages) {
  config_.window_packets = 4;
  connect();
  for (std::uint64_t i = 0; i < 6; ++i) post(send_wr(i, 1));
  EXPECT_EQ(sent().size(), 4u);
  peer_sends(ack(Psn(203)));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(204), local_pattern(0, 1)),
                                  send_only(Psn(205), local_pattern(0, 1))));
}

TEST_F(RcRequesterFlow, MovesAllOfALongMessageThroughASmallWindow) {
  config_.window_packets = 1;
  connect();
  post(write_wr(1, 10 * kMtu));
  std::vector<QpPacket> all;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto packets = sent();
    ASSERT_THAT(packets, SizeIs(1));
    EXPECT_TRUE(packets[0].ack_request) << "with nothing else to send, who would ask?";
    all.push_back(packets[0].asking_for_ack(i == 9));
    peer_sends(ack(packets[0].psn));
  }
  EXPECT_EQ(all, write_message(Psn(200), local_pattern(0, 10 * kMtu), kMtu));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// Fact 38 is why: peers may keep only so much unacknowledged.
TEST_F(RcRequesterFlow, AsksForAnAckAtLeastEveryQuarterOfTheWindow) {
  config_.window_packets = 32;
  connect();
  post(write_wr(1, 31 * kMtu));
  const auto packets = sent();
  ASSERT_THAT(packets, SizeIs(31));
  std::uint32_t since_asked = 0;
  for (const QpPacket& packet : packets) {
    ++since_asked;
    EXPECT_LE(since_asked, 8u) << "at PSN " << packet.psn.value();
    since_asked = packet.ack_request ? 0 : since_asked;
  }
  EXPECT_TRUE(packets.back().ack_request);
}

TEST_F(RcRequesterFlow, AsksForNoMoreAcksThanTheWindowNeeds) {
  config_.window_packets = 32;
  connect();
  post(write_wr(1, 31 * kMtu));
  const auto packets = sent();
  const auto asks = std::count_if(packets.begin(), packets.end(),
                                  [](const QpPacket& packet) { return packet.ack_request; });
  EXPECT_LE(asks, 4) << "three full quarters and the end of the message";
}

TEST_F(RcRequesterFlow, SendsNoMoreReadsThanThePeerAnswersAtOnce) {
  config_.max_reads_in_flight = 2;
  connect();
  post({read_wr(1, 10), read_wr(2, 10), read_wr(3, 10)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 10), read_request(Psn(201), 10)));
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(202), 10)));
}

// Programs that leave max_rd_atomic at 0 can READ over ConnectX. With a limit of 0 they would wait forever,
// and get no error.
TEST_F(RcRequesterFlow, TakesALimitOfNoReadsForOne) {
  config_.max_reads_in_flight = 0;
  connect();
  post({read_wr(1, 10), read_wr(2, 10)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 10)));
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 10)));
}

TEST_F(RcRequesterFlow, RepeatsNoMoreThanSixteenReadsAtOnce) {
  config_.max_reads_in_flight = 128;
  connect();
  for (std::uint64_t i = 0; i < 40; ++i) post(read_wr(i, 1));
  ASSERT_EQ(sent().size(), 40u);
  pass_to_timeout();
  ASSERT_EQ(sent().size(), 1u);
  peer_sends(read_response_only(Psn(200), payload(1)));
  ASSERT_EQ(sent().size(), 16u);
  peer_sends(read_response_only(Psn(201), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(217), 1)));
  for (std::uint32_t i = 2; i < 24; ++i) peer_sends(read_response_only(Psn(200 + i), payload(1)));
  EXPECT_EQ(sent().size(), 22u) << "the last one that was sent before";
  for (std::uint64_t i = 40; i < 60; ++i) post(read_wr(i, 1));
  EXPECT_EQ(sent().size(), 20u) << "as many new ones as there may be";
}

TEST_F(RcRequesterFlow, HoldsAReadBackUntilTheLastResponseOfAnother) {
  config_.max_reads_in_flight = 1;
  connect();
  post({read_wr(1, 2000), read_wr(2, 10)});
  sent();
  peer_sends(read_response_first(Psn(200), payload(1024)));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(read_response_last(Psn(201), payload(976)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(202), 10)));
}

TEST_F(RcRequesterFlow, KeepsTheOrderBehindAReadThatWaits) {
  config_.max_reads_in_flight = 1;
  connect();
  post({read_wr(1, 10).from_elements({local(10, 0x8000)}), read_wr(2, 10), send_wr(3, 1)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 10)));
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 10), send_only(Psn(202), local_pattern(0, 1))));
}

TEST_F(RcRequesterFlow, DoesNotWaitForAReadWithoutAFence) {
  connect();
  post({read_wr(1, 10), send_wr(2, 1)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 10), send_only(Psn(201), local_pattern(0, 1))));
}

TEST_F(RcRequesterFlow, FencesASendBehindAllEarlierReads) {
  connect();
  post({read_wr(1, 10).from_elements({local(10, 0x8000)}),
        read_wr(2, 2000).from_elements({local(2000, 0x8000)}), send_wr(3, 1).fenced(), send_wr(4, 1)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 10), read_request(Psn(201), 2000)));
  peer_sends(read_response_only(Psn(200), payload(10)));
  peer_sends(read_response_first(Psn(201), payload(1024)));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(read_response_last(Psn(202), payload(976)));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(203), local_pattern(0, 1)),
                                  send_only(Psn(204), local_pattern(0, 1))));
}

TEST_F(RcRequesterFlow, FencesAReadBehindAnotherRead) {
  connect();
  post({read_wr(1, 10), read_wr(2, 10).fenced()});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 10)));
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 10)));
}

TEST_F(RcRequesterFlow, DoesNotFenceBehindSendsAndWrites) {
  connect();
  post({send_wr(1, 1), write_wr(2, 1), send_wr(3, 1).fenced()});
  EXPECT_EQ(sent().size(), 3u);
}

// What a READ brought can be sent by the fenced request: that is what fences are for.
TEST_F(RcRequesterFlow, SendsWhatTheReadBrought) {
  connect();
  post({read_wr(1, 10), send_wr(2, 10).fenced()});
  sent();
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(201), payload(10))));
}

// Fact 19: "never stall READ/WRITE on credits"; a ConnectX may send credits of 0.
TEST_F(RcRequesterFlow, DoesNotStallWritesAndReadsForLackOfCredits) {
  connect();
  post(send_wr(1, 1));
  sent();
  peer_sends(ack(Psn(200), 1).with_syndrome(0x00));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  post({write_wr(2, 1), read_wr(3, 1)});
  EXPECT_THAT(sent(), ElementsAre(write_only(Psn(201), local_pattern(0, 1)), read_request(Psn(202), 1)));
}

// The peer counts each READ request: the SEND is its fourth message, and it has told of three.
TEST_F(RcRequesterFlow, CountsEachPieceOfAReadAsAMessageOfThePeers) {
  config_.window_packets = 4;
  connect();
  post(send_wr(1, 1));
  sent();
  peer_sends(ack(Psn(200), 1).with_syndrome(0x02));
  post({read_wr(2, 4 * kMtu), send_wr(3, 1)});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 2 * kMtu),
                                  read_request(Psn(203), 2 * kMtu, kShared + 2 * kMtu)));
  peer_sends(read_responses(Psn(201), payload(2 * kMtu), kMtu, 2));
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(read_responses(Psn(203), payload(2 * kMtu), kMtu, 3));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(205), payload(1))));
}

TEST_F(RcRequesterFlow, SaysHowManyRequestsOfAReadAreInFlight) {
  config_.window_packets = 4;
  connect();
  post(read_wr(1, 5 * kMtu));
  EXPECT_EQ(endpoint_.send_progress().reads_in_flight, 2u);
  peer_sends(read_responses(Psn(200), payload(2 * kMtu), kMtu));
  EXPECT_EQ(endpoint_.send_progress().reads_in_flight, 2u);
  peer_sends(read_responses(Psn(202), payload(2 * kMtu), kMtu, 2));
  EXPECT_EQ(endpoint_.send_progress().reads_in_flight, 1u);
  peer_sends(read_response_only(Psn(204), payload(kMtu), 3));
  EXPECT_EQ(endpoint_.send_progress().reads_in_flight, 0u);
}

TEST_F(RcRequesterFlow, CountsNoPieceTwiceThatIsAnsweredWhileItWaitsToBeAskedAgain) {
  config_.window_packets = 4;
  connect();
  post(read_wr(1, 6 * kMtu));
  sent();
  now_ += ack_timeout(config_.ack_timeout);
  endpoint_.on_timeout(now_);
  for (const QpPacket& response : read_responses(Psn(200), payload(2 * kMtu), kMtu)) arrives(response);
  EXPECT_EQ(endpoint_.send_progress().reads_in_flight, 0u);
  drain();
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(202), 2 * kMtu, kShared + 2 * kMtu),
                                  read_request(Psn(204), 2 * kMtu, kShared + 4 * kMtu)));
  EXPECT_EQ(endpoint_.send_progress().reads_in_flight, 2u);
}

TEST_F(RcRequesterFlow, AsksForAReadInPiecesAcross2To24) {
  config_.window_packets = 4;
  config_.send_psn = Psn(0xffffff);
  connect();
  post(read_wr(1, 4 * kMtu));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(0xffffff), 2 * kMtu),
                                  read_request(Psn(1), 2 * kMtu, kShared + 2 * kMtu)));
  peer_sends(read_responses(Psn(0xffffff), payload(2 * kMtu), kMtu));
  peer_sends(read_responses(Psn(1), payload(2 * kMtu), kMtu, 2));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// Fact 19: at least one SEND goes out at a time.
TEST_F(RcRequesterFlow, SendsOneMessageEvenWithoutCredits) {
  connect();
  post(send_wr(1, 1));
  sent();
  peer_sends(ack(Psn(200), 1).with_syndrome(0x00));
  post(send_wr(2, 1));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(201), local_pattern(0, 1))));
}

TEST_F(RcRequesterFlow, FreesThePlaceOfACompletedWorkRequest) {
  connect();
  std::uint32_t psn = 200;
  for (std::uint64_t i = 0; i < 200; ++i, ++psn) {
    post(send_wr(i, 1).unsignaled());
    ASSERT_FALSE(HasFailure());
    peer_sends(ack(Psn(psn)));
  }
  EXPECT_TRUE(send_queue_.is_empty());
}

}  // namespace
}  // namespace urnic::transport::test
