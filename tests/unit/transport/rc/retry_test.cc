// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The ACK timer and the retry counter (facts 36 and 37).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RcRetry : public RcTest {
 protected:
  RcRetry() { config_.ack_timeout = 14; }

  static constexpr Duration kTimeout = ack_timeout(14);
  RetrySchedule schedule_{.waits = {milliseconds(3), milliseconds(1), milliseconds(7)}, .count = 3};

  /// Passes `timeouts` deadlines and returns how many packets left with PSN 200.
  int transmissions_during(int timeouts) {
    int transmissions = 0;
    for (int i = 0; i < timeouts && until_timeout(); ++i) {
      pass_to_timeout();
      for (const QpPacket& packet : sent()) transmissions += packet.psn == Psn(200) ? 1 : 0;
    }
    return transmissions;
  }
};

class RcAckTimeout : public RcRetry, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Code, RcAckTimeout, ::testing::Range(1, 32));

// Fact 36: 4.096 us x 2^t.
TEST_P(RcAckTimeout, RepeatsExactlyAfterTheTimeout) {
  config_.ack_timeout = static_cast<std::uint8_t>(GetParam());
  connect();
  post(send_wr(1, 10));
  const auto first = sent();

  EXPECT_EQ(until_timeout(), ack_timeout(static_cast<unsigned>(GetParam())));
  pass(ack_timeout(static_cast<unsigned>(GetParam())) - nanoseconds(1));
  EXPECT_THAT(sent(), IsEmpty());
  pass(nanoseconds(1));
  EXPECT_EQ(sent(), first);
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 1u);
  EXPECT_EQ(events_.losses(), 1u);
}

// Fact 36: 0 is never.
TEST_F(RcRetry, NeverTimesOutWithCode0) {
  config_.ack_timeout = 0;
  connect();
  post({send_wr(1, 10), read_wr(2, 10)});
  sent();
  EXPECT_EQ(until_timeout(), std::nullopt);
  pass(std::chrono::hours(24));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// Starved cores are normal, so there is a floor under the timeout.
TEST_F(RcRetry, LengthensShortTimeoutsToTheMinimum) {
  config_.ack_timeout = 1;
  config_.min_ack_timeout = milliseconds(5);
  connect();
  post(send_wr(1, 10));
  EXPECT_EQ(until_timeout(), milliseconds(5));
}

TEST_F(RcRetry, KeepsTimeoutsAboveTheMinimum) {
  config_.min_ack_timeout = milliseconds(5);
  connect();
  post(send_wr(1, 10));
  EXPECT_EQ(until_timeout(), kTimeout);
}

TEST_F(RcRetry, NeverTimesOutWithCode0WhateverTheMinimum) {
  config_.ack_timeout = 0;
  config_.min_ack_timeout = milliseconds(5);
  connect();
  post(send_wr(1, 10));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

// A peer that had no turn on a processor could not acknowledge.
TEST_F(RcRetry, CountsFromWhenThePeerHadItsTurn) {
  connect();
  endpoint_.restart_ack_timer(now_);
  EXPECT_EQ(until_timeout(), std::nullopt) << "nothing is under way";
  post(send_wr(1, 10));
  sent();
  pass(kTimeout - nanoseconds(1));
  endpoint_.restart_ack_timer(now_);
  EXPECT_EQ(until_timeout(), kTimeout);
  pass(kTimeout - nanoseconds(1));
  EXPECT_THAT(sent(), IsEmpty());
  pass(nanoseconds(1));
  EXPECT_THAT(sent(), SizeIs(1));
}

// As some NICs do: waits of different lengths, whatever timeout and retry count are.
TEST_F(RcRetry, FollowsASchedule) {
  config_.retry_count = 0;
  config_.retry_schedule = &schedule_;
  connect();
  post(send_wr(1, 10));
  const auto first = sent();
  for (const auto wait : {milliseconds(3), milliseconds(1)}) {
    EXPECT_EQ(until_timeout(), wait);
    pass_to_timeout();
    EXPECT_EQ(sent(), first);
  }
  EXPECT_EQ(until_timeout(), milliseconds(7));
  pass_to_timeout();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

// A ConnectX has early repetitions before its regular timeouts.
TEST_F(RcRetry, CountsEarlyRepetitionsApart) {
  schedule_.early = 1;
  config_.retry_schedule = &schedule_;
  connect();
  post(send_wr(1, 10));
  sent();
  pass_to_timeout();
  sent();
  EXPECT_EQ(count(Counter::kEarlyRepetition), 1u);
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 0u);
  EXPECT_EQ(count(Counter::kTimeoutRepetition), 1u);
  pass_to_timeout();
  sent();
  pass_to_timeout();
  sent();
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(count(Counter::kEarlyRepetition), 1u);
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 2u);
  EXPECT_EQ(count(Counter::kTimeoutRepetition), 2u) << "the last timeout repeats nothing";
}

TEST_F(RcRetry, BeginsTheScheduleAgainAfterAProgress) {
  config_.retry_schedule = &schedule_;
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  sent();
  pass_to_timeout();
  EXPECT_EQ(until_timeout(), milliseconds(1));
  peer_sends(ack(Psn(200), 1));
  EXPECT_EQ(until_timeout(), milliseconds(3));
}

// A ConnectX-6 with a retry count of 0 was seen to do so.
TEST_F(RcRetry, WaitsOnWithoutSendingWhereTheScheduleSaysSo) {
  schedule_.sending = 1;
  config_.retry_schedule = &schedule_;
  connect();
  post(send_wr(1, 10));
  sent();
  EXPECT_EQ(transmissions_during(1), 1);
  EXPECT_EQ(until_timeout(), milliseconds(1));
  EXPECT_EQ(transmissions_during(1), 0);
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  EXPECT_EQ(until_timeout(), milliseconds(7));
  EXPECT_EQ(transmissions_during(1), 0);
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcRetry, RepeatsWithoutEndWhereSevenSaysSo) {
  config_.retry_count = 7;
  config_.has_endless_retries = true;
  connect();
  post(send_wr(1, 10));
  sent();
  EXPECT_EQ(transmissions_during(100), 100);
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcRetry, RunsNoTimerWhileNothingIsUnderWay) {
  connect();
  EXPECT_EQ(until_timeout(), std::nullopt);
  post(send_wr(1, 10));
  EXPECT_NE(until_timeout(), std::nullopt);
  peer_sends(ack(Psn(200)));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

TEST_F(RcRetry, DoesNothingWhenCalledEarly) {
  connect();
  post(send_wr(1, 10));
  sent();
  now_ += kTimeout / 2;
  EXPECT_FALSE(endpoint_.on_timeout(now_));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(until_timeout(), kTimeout / 2);
}

TEST_F(RcRetry, DoesNothingWhenCalledForNothing) {
  connect();
  EXPECT_FALSE(endpoint_.on_timeout(now_));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(until_timeout(), std::nullopt);
}

TEST_F(RcRetry, SaysThatThePeerDidNotAcknowledgeInTime) {
  connect();
  post(send_wr(1, 10));
  now_ += kTimeout;
  EXPECT_TRUE(endpoint_.on_timeout(now_));
}

TEST_F(RcRetry, RepeatsEverythingUnacknowledged) {
  connect();
  post({send_wr(1, 10), write_wr(2, 3000), read_wr(3, 2000), send_wr(4, 5)});
  const auto first = sent();
  pass_to_timeout();
  EXPECT_EQ(sent(), slice(first, 0, 1)) << "as a peer that does not run needs no more";
  peer_sends(ack(Psn(200), 1));
  EXPECT_EQ(sent(), slice(first, 1, first.size() - 1));
}

TEST_F(RcRetry, AsksForTheAcknowledgementOfThePacketThatGoesFirst) {
  connect();
  post(write_wr(1, 4000));
  EXPECT_FALSE(sent()[0].ack_request);
  pass_to_timeout();
  const auto again = sent();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].ack_request);
}

TEST_F(RcRetry, SendsOnePacketAtATimeToAPeerThatIsSilent) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  sent();
  for (int i = 0; i < 3; ++i) {
    pass_to_timeout();
    EXPECT_EQ(sent().size(), 1u);
    post(send_wr(3, 10));
    EXPECT_TRUE(sent().empty());
  }
}

TEST_F(RcRetry, RepeatsFromTheOldestUnacknowledgedPacket) {
  connect();
  post(write_wr(1, 4000));
  const auto first = sent();
  peer_sends(ack(Psn(201)));
  pass_to_timeout();
  EXPECT_EQ(sent(), std::vector{QpPacket(first[2]).asking_for_ack(true)});
  peer_sends(ack(Psn(202)));
  EXPECT_EQ(sent(), slice(first, 3, 1));
}

TEST_F(RcRetry, RepeatsARequestForTheRestOfARead) {
  connect();
  post(read_wr(1, 4000));
  sent();
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_middle(Psn(201), payload(1024))});
  pass_to_timeout();
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(202), 1952, kShared + 2048)));
}

// Fact 36: retry_cnt 3 is 4 transmissions, then status 12 (capture vs_peer_dead).
class RcRetryCount : public RcRetry, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Count, RcRetryCount, ::testing::Range(0, 8));

TEST_P(RcRetryCount, TransmitsOnceMoreThanTheRetryCountThenGivesUp) {
  config_.retry_count = static_cast<std::uint8_t>(GetParam());
  connect();
  post_receives({9});
  post({send_wr(1, 10), send_wr(2, 10), write_wr(3, 10).unsignaled()});
  EXPECT_THAT(sent(), SizeIs(3));
  const Time start = now_;

  EXPECT_EQ(transmissions_during(GetParam()), GetParam());
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  EXPECT_EQ(transmissions_during(1), 0);

  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(1, CompletionStatus::kRetryExceeded), Flushed(2), Flushed(3)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(9)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_EQ(now_ - start, kTimeout * (GetParam() + 1));
  EXPECT_EQ(until_timeout(), std::nullopt);
  EXPECT_EQ(count(Counter::kRetryExceeded), 1u);
}

TEST_F(RcRetry, GivesUpOnAReadToo) {
  config_.retry_count = 1;
  connect();
  post({read_wr(1, 3000), send_wr(2, 1)});
  peer_sends(read_response_first(Psn(200), payload(1024)));
  pass(kTimeout * 3);
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kRetryExceeded), Flushed(2)));
}

// Fact 36: counters reset on progress.
TEST_F(RcRetry, CountsAnewAfterProgress) {
  config_.retry_count = 2;
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  for (int i = 0; i < 2; ++i) pass_to_timeout();
  peer_sends(ack(Psn(200), 1));
  sent();
  for (int i = 0; i < 2; ++i) {
    pass_to_timeout();
    EXPECT_THAT(sent(), SizeIs(1));
  }
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  pass_to_timeout();
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

// The port may be full meanwhile: a timer of which nothing is under way would use up a retry that was never
// made.
TEST_F(RcRetry, RunsNoTimerForWhatIsStillToBeSentAgain) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10), send_wr(3, 10)});
  now_ += kTimeout;
  EXPECT_TRUE(endpoint_.on_timeout(now_));
  arrives(ack(Psn(200), 1));
  EXPECT_EQ(until_timeout(), std::nullopt);
  sent();
  drain();
  EXPECT_THAT(sent(), SizeIs(2));
  EXPECT_EQ(until_timeout(), kTimeout);
}

TEST_F(RcRetry, CountsAnewAfterProgressInsideAMessage) {
  config_.retry_count = 1;
  connect();
  post(write_wr(1, 4000));
  for (std::uint32_t psn = 200; psn < 203; ++psn) {
    pass_to_timeout();
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
    peer_sends(ack(Psn(psn), 0));
  }
}

TEST_F(RcRetry, CountsAnewAfterAReadResponse) {
  config_.retry_count = 1;
  connect();
  post(read_wr(1, 4000));
  const auto responses = read_responses(Psn(200), payload(4000), kMtu);
  for (const QpPacket& response : responses) {
    pass_to_timeout();
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
    peer_sends(response);
  }
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// Duplicate ACKs are no progress, or a peer that repeats them would keep us waiting forever.
TEST_F(RcRetry, DoesNotCountAnewForAStaleAck) {
  config_.retry_count = 1;
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  peer_sends(ack(Psn(200), 1));
  pass_to_timeout();
  peer_sends(ack(Psn(200), 1));
  pass_to_timeout();
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcRetry, DoesNotPutOffTheTimeoutForAStaleAck) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  peer_sends(ack(Psn(200), 1));
  sent();
  pass(kTimeout / 2);
  peer_sends(ack(Psn(200), 1));
  pass(kTimeout / 2);
  EXPECT_THAT(sent(), SizeIs(1));
}

TEST_F(RcRetry, MeasuresTheTimeoutFromTheLastProgress) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  sent();
  pass(kTimeout - nanoseconds(1));
  peer_sends(ack(Psn(200), 1));
  EXPECT_EQ(until_timeout(), kTimeout);
}

// A queue pair that keeps posting must still notice that its oldest request is lost.
TEST_F(RcRetry, DoesNotPutOffTheTimeoutForNewWork) {
  connect();
  post(send_wr(1, 10));
  for (std::uint64_t i = 2; i < 9; ++i) {
    pass(kTimeout / 8);
    post(send_wr(i, 10));
  }
  sent();
  pass(kTimeout / 8);
  const auto packets = sent();
  ASSERT_FALSE(packets.empty());
  EXPECT_EQ(packets[0].psn, Psn(200));
}

// A peer that answers every repetition with the same NAK must not make us send forever.
TEST_F(RcRetry, GivesUpInSpiteOfTheSameSequenceNakAgainAndAgain) {
  config_.retry_count = 3;
  connect();
  post(send_wr(1, 10));
  std::size_t transmissions = sent().size();
  for (int i = 0; i < 20; ++i) {
    peer_sends(nak(Nak::kSequenceError, Psn(200)));
    transmissions += sent().size();
  }
  EXPECT_LE(transmissions, 4u);
  for (int i = 0; i < 5; ++i) {
    pass(kTimeout);
    peer_sends(nak(Nak::kSequenceError, Psn(200)));
  }
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kRetryExceeded)));
}

TEST_F(RcRetry, GivesUpOnASequenceNakWithoutRetries) {
  config_.retry_count = 0;
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(200)));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kRetryExceeded), Flushed(2)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

// Fact 23: a NAK about what was repeated after a timeout is a new one.
TEST_F(RcRetry, HonoursASequenceNakAgainAfterATimeout) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  peer_sends(nak(Nak::kSequenceError, Psn(200)));
  pass_to_timeout();
  sent();
  peer_sends(nak(Nak::kSequenceError, Psn(200)));
  EXPECT_THAT(sent(), SizeIs(2));
}

TEST_F(RcRetry, SequenceNaksThatMakeProgressAreNoRetries) {
  config_.retry_count = 1;
  connect();
  post(write_wr(1, 10 * kMtu));
  for (std::uint32_t psn = 201; psn < 210; ++psn) {
    peer_sends(nak(Nak::kSequenceError, Psn(psn)));
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  }
}

TEST_F(RcRetry, GivesUpOnAReadThatIsPassedOverAgainAndAgain) {
  config_.retry_count = 3;
  connect();
  post({read_wr(1, 10), send_wr(2, 10)});
  for (int i = 0; i < 5; ++i) {
    peer_sends(ack(Psn(201), 2));
    pass(kTimeout);
  }
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kRetryExceeded), Flushed(2)));
}

TEST_F(RcRetry, TakesALateAckAfterTheRepetition) {
  connect();
  post({send_wr(1, 10), send_wr(2, 10)});
  pass_to_timeout();
  peer_sends(ack(Psn(201), 2));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

}  // namespace
}  // namespace urnic::transport::test
