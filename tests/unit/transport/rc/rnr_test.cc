// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RNR NAKs at the requester (facts 34, 35 and 37).
#include <array>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Fact 35, in units of 10 us.
constexpr std::array<std::int64_t, 32> kRnrTimers = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr Duration rnr_wait(int code) {
  return microseconds(10 * kRnrTimers[static_cast<std::size_t>(code)]);
}

class RcRnr : public RcTest {
 protected:
  /// The n-th refusal and the wait after it.
  void refuse(Psn psn, std::uint8_t code = 1) {
    peer_sends(rnr_nak(code, psn));
    pass(rnr_wait(code));
  }
};

class RcRnrTimer : public RcRnr, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Code, RcRnrTimer, ::testing::Range(0, 32));

TEST_P(RcRnrTimer, WaitsAsLongAsThePeerSays) {
  connect();
  post(send_wr(1, 10));
  const auto first = sent();

  peer_sends(rnr_nak(static_cast<std::uint8_t>(GetParam()), Psn(200)));

  EXPECT_EQ(until_timeout(), rnr_wait(GetParam()));
  pass(rnr_wait(GetParam()) - nanoseconds(1));
  EXPECT_THAT(sent(), IsEmpty());
  pass(nanoseconds(1));
  EXPECT_EQ(sent(), first);
}

// Fact 34: everything from the refused packet on.
TEST_F(RcRnr, RepeatsFromTheRefusedPacketOn) {
  connect();
  post({write_wr(1, 10), send_wr(2, 3000), read_wr(3, 10), send_wr(4, 10)});
  const auto first = sent();
  peer_sends(rnr_nak(1, Psn(201), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_THAT(sent(), IsEmpty());
  pass(rnr_wait(1));
  EXPECT_EQ(sent(), slice(first, 1, first.size() - 1));
  EXPECT_EQ(count(Counter::kRnrNakReceived), 1u);
}

// A WRITE with immediate is refused at its last packet.
TEST_F(RcRnr, RepeatsOnlyTheLastPacketOfAWriteWithImmediate) {
  connect();
  post(write_wr(1, 3000).with_immediate(7));
  sent();
  peer_sends(rnr_nak(1, Psn(202)));
  pass(rnr_wait(1));
  EXPECT_THAT(sent(),
              ElementsAre(write_last_with_immediate(Psn(202), pattern(kLocalAddress + 2048, 952), 7)));
}

TEST_F(RcRnr, CompletesAfterTheWait) {
  connect();
  post(send_wr(1, 10));
  refuse(Psn(200));
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

// The responder would drop it: it waits for the refused packet.
TEST_F(RcRnr, SendsNoNewWorkDuringTheWait) {
  connect();
  post(send_wr(1, 10));
  sent();
  peer_sends(rnr_nak(20, Psn(200)));
  post(send_wr(2, 11));
  pass(rnr_wait(20) - nanoseconds(1));
  EXPECT_THAT(sent(), IsEmpty());
  pass(nanoseconds(1));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), pattern(kLocalAddress, 10)),
                                  send_only(Psn(201), pattern(kLocalAddress, 11))));
}

TEST_F(RcRnr, AnswersThePeerDuringTheWait) {
  connect();
  post(send_wr(1, 10));
  sent();
  peer_sends(rnr_nak(20, Psn(200)));
  peer_sends(write_only(Psn(100), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

// Fact 34: the RNR timer rules.
TEST_F(RcRnr, DoesNotTimeOutDuringTheWait) {
  config_.ack_timeout = 1;
  config_.retry_count = 0;
  connect();
  post(send_wr(1, 10));
  sent();
  peer_sends(rnr_nak(0, Psn(200)));
  EXPECT_EQ(until_timeout(), rnr_wait(0));
  pass(rnr_wait(0) - nanoseconds(1));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 0u);
  pass(nanoseconds(1));
  EXPECT_THAT(sent(), SizeIs(1));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcRnr, MeasuresTheAckTimeoutFromTheEndOfTheWait) {
  connect();
  post(send_wr(1, 10));
  refuse(Psn(200), 20);
  EXPECT_EQ(until_timeout(), ack_timeout(config_.ack_timeout));
}

// ACKs of packets before the refused one may come again: they do not shorten the wait.
TEST_F(RcRnr, IsNotWokenByStaleAcks) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  peer_sends(ack(Psn(200), 1));
  sent();
  peer_sends(rnr_nak(20, Psn(201)));
  peer_sends({ack(Psn(200), 1), ack(Psn(199), 0)});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(until_timeout(), rnr_wait(20));
}

// Fact 34: rnr_retry n is n + 1 transmissions, then status 13.
class RcRnrRetryCount : public RcRnr, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Count, RcRnrRetryCount, ::testing::Range(0, 7));

TEST_P(RcRnrRetryCount, TransmitsOnceMoreThanTheRnrRetryCountThenGivesUp) {
  config_.rnr_retry = static_cast<std::uint8_t>(GetParam());
  connect();
  post_receives({9});
  post({send_wr(1, 10), send_wr(2, 10).unsignaled()});
  EXPECT_THAT(sent(), SizeIs(2));
  for (int i = 0; i < GetParam(); ++i) {
    refuse(Psn(200));
    EXPECT_THAT(sent(), SizeIs(2));
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  }
  refuse(Psn(200));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kRnrRetryExceeded), Flushed(2)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(9)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(until_timeout(), std::nullopt);
  EXPECT_EQ(count(Counter::kRnrNakRetryExceeded), 1u);
}

// Fact 37.
TEST_F(RcRnr, RetriesForEverWith7) {
  config_.rnr_retry = 7;
  connect();
  post(send_wr(1, 10));
  sent();
  for (int i = 0; i < 300; ++i) {
    refuse(Psn(200));
    EXPECT_THAT(sent(), SizeIs(1));
  }
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// Fact 36: counters reset on progress.
TEST_F(RcRnr, CountsAnewAfterProgress) {
  config_.rnr_retry = 1;
  connect();
  for (std::uint32_t i = 0; i < 5; ++i) {
    post(send_wr(i, 10));
    refuse(Psn(200 + i));
    peer_sends(ack(Psn(200 + i)));
    EXPECT_THAT(send_completions(), ElementsAre(Succeeded(i)));
  }
}

// An RNR NAK of the next packet acknowledges the earlier ones, and is the first one about that packet.
TEST_F(RcRnr, CountsAnewForALaterPacket) {
  config_.rnr_retry = 1;
  connect();
  post({send_wr(0, 10), send_wr(1, 10), send_wr(2, 10)});
  refuse(Psn(200));
  refuse(Psn(201));
  refuse(Psn(202));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(0), Succeeded(1)));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// A peer that answers is not a peer that is dead.
TEST_F(RcRnr, DoesNotCountAsATimeout) {
  config_.retry_count = 0;
  config_.rnr_retry = 7;
  connect();
  post(send_wr(1, 10));
  for (int i = 0; i < 5; ++i) refuse(Psn(200));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// Repetitions of a packet may be refused twice in a row (capture vs_rnr, frames 11 and 12).
TEST_F(RcRnr, WaitsOnWhenASecondRefusalComesDuringTheWait) {
  config_.rnr_retry = 2;
  connect();
  post(send_wr(1, 10));
  sent();
  peer_sends(rnr_nak(20, Psn(200)));
  pass(rnr_wait(20) / 2);
  peer_sends(rnr_nak(20, Psn(200)));
  EXPECT_THAT(sent(), IsEmpty());
  ASSERT_NE(until_timeout(), std::nullopt);
  EXPECT_GE(*until_timeout(), rnr_wait(20) / 2);
}

// Fact 34 counts transmissions, not refusals.
TEST_F(RcRnr, UsesUpNoRetryForASecondRefusalDuringTheWait) {
  config_.rnr_retry = 1;
  connect();
  post(send_wr(1, 10));
  sent();
  peer_sends({rnr_nak(1, Psn(200)), rnr_nak(1, Psn(200)), rnr_nak(1, Psn(200))});
  pass(rnr_wait(1));
  EXPECT_THAT(sent(), SizeIs(1));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// A late ACK of the refused packet: the peer took a duplicate of it meanwhile.
TEST_F(RcRnr, EndsTheWaitWhenTheRefusedPacketIsAcknowledged) {
  connect();
  post(send_wr(1, 10));
  sent();
  peer_sends(rnr_nak(20, Psn(200)));
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  pass(rnr_wait(20));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(until_timeout(), std::nullopt);
}

// A duplicate of the refused packet found a receive; the packets after it still wait.
TEST_F(RcRnr, MeasuresTheAckTimeoutFromTheEndOfTheWaitAlsoAfterAnAck) {
  config_.retry_count = 0;
  connect();
  post({send_wr(1, 10), send_wr(2, 11)});
  sent();
  peer_sends(rnr_nak(0, Psn(200)));
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  pass(rnr_wait(0));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(201), pattern(kLocalAddress, 11))));
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 0u);
  EXPECT_EQ(until_timeout(), ack_timeout(config_.ack_timeout));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcRnr, GoesBackToAReadThatItPassedOver) {
  connect();
  post({read_wr(1, 10), send_wr(2, 10)});
  sent();
  peer_sends(rnr_nak(1, Psn(201), 1));
  EXPECT_THAT(send_completions(), IsEmpty());
  pass(rnr_wait(1));
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets.front(), read_request(Psn(200), 10));
}

}  // namespace
}  // namespace urnic::transport::test
