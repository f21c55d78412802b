// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The wire observer must complain about what a correct NIC would not send, and about nothing else.
#include "tools/simulation/seeds/checks/flow_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/sim/flow_packets.h"

namespace urnic::sim {
namespace {

using namespace std::chrono_literals;
using flow_test::acknowledge;
using flow_test::bytes;
using flow_test::kAccessNak;
using flow_test::kMtu;
using flow_test::kRnrNak;
using flow_test::read;
using flow_test::read_response;
using flow_test::send_only;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

/// Packet `index` of a WRITE of `size` bytes that begins at PSN 100.
WireView write(std::uint32_t index, std::uint32_t size) {
  const bool is_last = (index + 1) * kMtu >= size;
  WireView packet{.opcode = static_cast<std::uint8_t>(index == 0 ? 6
                                                      : is_last  ? 8
                                                                 : 7),
                  .psn = 100 + index,
                  .ack_request = is_last,
                  .kind = PacketKind::kWrite,
                  .is_first = index == 0,
                  .is_last = is_last,
                  .payload = bytes(is_last ? size - index * kMtu : kMtu)};
  if (index == 0) packet.length = size;
  return packet;
}

WireView fetch_add(std::uint32_t psn, std::uint64_t operand = 1) {
  return {.opcode = 0x14,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kAtomic,
          .is_first = true,
          .is_last = true,
          .has_atomic_eth = true,
          .swap_or_add = operand};
}

WireView atomic_acknowledge(std::uint32_t psn, std::uint64_t original, std::uint32_t msn = 1) {
  return {.opcode = 0x12,
          .psn = psn,
          .kind = PacketKind::kAtomicAcknowledge,
          .is_first = true,
          .is_last = true,
          .has_aeth = true,
          .syndrome = 0x1f,
          .msn = msn,
          .original = original};
}

constexpr std::uint8_t kSequenceNak = 0x60;

/// A flow from PSN 100, with packets that arrive as soon as they are sent unless a test says otherwise.
class Flow : public ::testing::Test {
 protected:
  Flow() {
    for (int i = 0; i < 10; ++i) observer_.on_posted({});
  }

  FlowObserver::Complaint sent(const WireView& packet) { return observer_.on_request_sent(packet, now_); }
  FlowObserver::Complaint answered(const WireView& packet) {
    return observer_.on_response_sent(packet, now_);
  }
  /// Sent and taken without a complaint.
  void request(const WireView& packet) {
    EXPECT_THAT(sent(packet), Eq(std::nullopt));
    observer_.on_request_taken(packet, now_);
  }
  void response(const WireView& packet) {
    EXPECT_THAT(answered(packet), Eq(std::nullopt));
    observer_.on_response_taken(packet, now_);
  }

  Time now_{1s};
  FlowObserver observer_{{.mtu_bytes = kMtu,
                          .window_packets = 4,
                          .max_reads_in_flight = 1,
                          .ack_timeout = 4ms,
                          .first_psn = 100}};
};

using FlowObserverTest = Flow;

// --- The requester ---

TEST_F(FlowObserverTest, ComplainsAboutAGapInNewPsns) {
  request(send_only(100));
  EXPECT_THAT(sent(send_only(102)), Optional(HasSubstr("PSN gap")));
}

TEST_F(FlowObserverTest, ComplainsWhenMoreIsInFlightThanTheWindow) {
  for (std::uint32_t psn = 100; psn < 104; ++psn) request(send_only(psn));
  EXPECT_THAT(sent(send_only(104)), Optional(HasSubstr("5 packets in flight of at most 4")));
}

TEST_F(FlowObserverTest, AnAcknowledgementOpensTheWindow) {
  for (std::uint32_t psn = 100; psn < 104; ++psn) request(send_only(psn));
  response(acknowledge(100, 1));
  request(send_only(104));
}

TEST_F(FlowObserverTest, ComplainsAboutMoreReadsThanAllowed) {
  request(read(100, 1000));
  EXPECT_THAT(sent(read(104, 10)), Optional(HasSubstr("2 READs and atomics in flight")));
}

TEST_F(FlowObserverTest, ComplainsAboutAMessageThatIsBegunInSqd) {
  request(write(0, 2 * kMtu));
  observer_.on_draining(true);
  request(write(1, 2 * kMtu));
  EXPECT_FALSE(observer_.is_drained());
  response(acknowledge(101, 1));
  EXPECT_TRUE(observer_.is_drained());
  EXPECT_THAT(sent(send_only(102)), Optional(HasSubstr("in SQD")));
}

TEST_F(FlowObserverTest, AcceptsMessagesAgainBehindSqd) {
  observer_.on_draining(true);
  observer_.on_draining(false);
  request(send_only(100));
}

TEST_F(FlowObserverTest, ComplainsAboutAnotherXrcQueueThanWasAskedFor) {
  FlowObserver observer({.mtu_bytes = kMtu, .first_psn = 100});
  observer.on_posted({.xrc_srq = 7});
  WireView packet = send_only(100);
  packet.xrc_srq = 8;
  EXPECT_THAT(observer.on_request_sent(packet, now_), Optional(HasSubstr("SRQ 0x8 instead of 0x7")));
}

TEST_F(FlowObserverTest, ComplainsWhenAMessageChangesItsXrcQueue) {
  request(write(0, 2 * kMtu));
  WireView packet = write(1, 2 * kMtu);
  packet.xrc_srq = 8;
  EXPECT_THAT(sent(packet), Optional(HasSubstr("another XRC SRQ")));
}

TEST_F(FlowObserverTest, ComplainsWhenARefusedSendIsSentEarlyBecauseAReadIsUnanswered) {
  request(read(100, 10));
  request(send_only(101));
  observer_.on_response_taken(acknowledge(101, 1, kRnrNak), now_);
  EXPECT_EQ(observer_.counts().rnr_behind_unanswered, 1u);
  EXPECT_THAT(sent(read(100, 10)), Optional(HasSubstr("before the receiver said")));
  now_ += 2ms;
  request(read(100, 10));
}

TEST_F(FlowObserverTest, ComplainsWhenAFencedRequestPassesARead) {
  FlowObserver observer({.mtu_bytes = kMtu, .first_psn = 100});
  observer.on_posted({});
  observer.on_posted({.fence = true});
  EXPECT_THAT(observer.on_request_sent(read(100, 10), now_), Eq(std::nullopt));
  EXPECT_THAT(observer.on_request_sent(send_only(101), now_), Optional(HasSubstr("fenced")));
}

TEST_F(FlowObserverTest, ComplainsAboutAMessageThatNobodyPosted) {
  FlowObserver observer({.mtu_bytes = kMtu, .first_psn = 100});
  EXPECT_THAT(observer.on_request_sent(send_only(100), now_), Optional(HasSubstr("was not posted")));
}

TEST_F(FlowObserverTest, ComplainsAboutARepetitionBeforeTheTimeout) {
  request(send_only(100));
  now_ += 3ms;
  EXPECT_THAT(sent(send_only(100)), Optional(HasSubstr("before the ACK timeout")));
}

// One that has given up takes answers, too, and does not heed them; its completion may be held back.
TEST_F(FlowObserverTest, CountsAttemptsUntilSomethingIsSentAfterProgress) {
  for (std::uint32_t psn = 100; psn < 102; ++psn) request(send_only(psn));
  now_ += 4ms;
  request(send_only(100));
  response(acknowledge(100, 1));
  now_ += 3ms;
  EXPECT_EQ(observer_.attempts_since_progress().rewinds, 1u);
  request(send_only(101));
  EXPECT_EQ(observer_.attempts_since_progress().rewinds, 0u);
}

TEST_F(FlowObserverTest, AcceptsARepetitionAfterTheTimeoutOrANak) {
  request(send_only(100));
  now_ += 4ms;
  request(send_only(100));
  request(send_only(101));
  observer_.on_response_taken(acknowledge(100, 0, kSequenceNak), now_);
  request(send_only(100));
}

TEST_F(FlowObserverTest, ComplainsAboutARepetitionOfWhatWasAcknowledged) {
  request(send_only(100));
  request(send_only(101));
  response(acknowledge(100, 1));
  now_ += 4ms;
  EXPECT_THAT(sent(send_only(100)), Optional(HasSubstr("is acknowledged")));
}

TEST_F(FlowObserverTest, ComplainsAboutARepetitionWithOtherContent) {
  request(send_only(100, 8));
  now_ += 4ms;
  EXPECT_THAT(sent(send_only(100, 9)), Optional(HasSubstr("not the same")));
}

TEST_F(FlowObserverTest, ComplainsAboutASkipWhileGoingBackN) {
  for (std::uint32_t psn = 100; psn < 103; ++psn) request(send_only(psn));
  now_ += 4ms;
  request(send_only(100));
  EXPECT_THAT(sent(send_only(102)), Optional(HasSubstr("skipped")));
}

TEST_F(FlowObserverTest, ComplainsAboutAReadResumedAtTheWrongAddress) {
  request(read(100, 1000));
  response(read_response(100, true, false, kMtu));
  now_ += 4ms;
  EXPECT_THAT(sent(read(101, 1000 - kMtu, 0x1000)), Optional(HasSubstr("READ resumed wrongly")));
}

TEST_F(FlowObserverTest, AcceptsAReadResumedWhereItsResponsesEnded) {
  request(read(100, 1000));
  response(read_response(100, true, false, kMtu));
  now_ += 4ms;
  request(read(101, 1000 - kMtu, 0x1000 + kMtu));
  EXPECT_EQ(observer_.counts().reads_resumed_inside, 1u);
}

// A READ of six packets, of which a first request asks for two.
class ReadInPieces : public ::testing::Test {
 protected:
  ReadInPieces() {
    observer_.on_posted({.read_bytes = 6 * kMtu});
    observer_.on_posted({});
    EXPECT_THAT(sent(read(100, 2 * kMtu, 0x1000)), Eq(std::nullopt));
  }
  FlowObserver::Complaint sent(const WireView& packet) { return observer_.on_request_sent(packet, Time(1s)); }

  FlowObserver observer_{
      {.mtu_bytes = kMtu, .window_packets = 4, .max_reads_in_flight = 3, .first_psn = 100}};
};

TEST_F(ReadInPieces, MayFillTheWindow) {
  EXPECT_THAT(sent(read(102, 2 * kMtu, 0x1000 + 2 * kMtu)), Eq(std::nullopt));
  EXPECT_EQ(observer_.counts().reads_in_pieces, 1u);
  EXPECT_THAT(sent(read(104, 2 * kMtu, 0x1000 + 4 * kMtu)),
              Optional(HasSubstr("6 responses in flight of at most 4")));
}

TEST_F(ReadInPieces, MustGoOnWhereTheyEnded) {
  EXPECT_THAT(sent(read(102, 2 * kMtu, 0x1000)), Optional(HasSubstr("left of a READ")));
}

TEST_F(ReadInPieces, MustNotAskForMoreThanTheRest) {
  EXPECT_THAT(sent(read(102, 5 * kMtu, 0x1000 + 2 * kMtu)), Optional(HasSubstr("left of a READ")));
}

TEST_F(ReadInPieces, MustGoOnBeforeTheNextMessage) {
  EXPECT_THAT(sent(send_only(102)), Optional(HasSubstr("left of a READ")));
}

TEST_F(FlowObserverTest, ComplainsWhenTheReceiverWasNotGivenItsTime) {
  request(send_only(100));
  response(acknowledge(100, 0, kRnrNak));
  now_ += 1279us;
  EXPECT_THAT(sent(send_only(100)), Optional(HasSubstr("before the receiver said it would be ready")));
}

TEST_F(FlowObserverTest, AcceptsARepetitionWhenTheReceiverIsReady) {
  request(send_only(100));
  response(acknowledge(100, 0, kRnrNak));
  now_ += 1280us;
  request(send_only(100));
}

TEST_F(FlowObserverTest, ComplainsWhenASecondRefusalIsNotGivenItsTime) {
  request(send_only(100));
  response(acknowledge(100, 0, kRnrNak));
  now_ += 1ms;
  observer_.on_response_taken(acknowledge(100, 0, kRnrNak), now_);
  now_ += 1279us;
  EXPECT_THAT(sent(send_only(100)), Optional(HasSubstr("before the receiver said it would be ready")));
}

// The READ before what was refused is answered late, and a copy is refused before anything is sent again.
TEST_F(FlowObserverTest, CountsARefusalAfterProgressThoughNothingWasSentAgain) {
  request(read(100, kMtu));
  request(send_only(101));
  const WireView answer = read_response(100, true, true, kMtu, 1);
  const WireView refusal = acknowledge(101, 1, kRnrNak);
  EXPECT_THAT(answered(answer), Eq(std::nullopt));
  response(refusal);
  now_ += 1280us;
  observer_.on_response_taken(answer, now_);
  observer_.on_response_taken(refusal, now_);
  now_ += 1280us;
  request(send_only(101));
  response(refusal);
  EXPECT_EQ(observer_.attempts_since_progress().rnr_naks, 2u);
}

TEST_F(FlowObserverTest, ComplainsAboutAWriteThatIsShorterThanItSaid) {
  WireView first = write(0, 600);
  first.length = 700;
  request(first);
  request(write(1, 600));
  EXPECT_THAT(sent(write(2, 600)), Optional(HasSubstr("600 bytes of a WRITE whose RETH says 700")));
}

TEST_F(FlowObserverTest, ComplainsAboutAMessageInsideAnother) {
  request(write(0, 600));
  EXPECT_THAT(sent(send_only(101)), Optional(HasSubstr("inside another")));
}

TEST_F(FlowObserverTest, ComplainsAboutAMiddlePacketShorterThanTheMtu) {
  request(write(0, 600));
  WireView middle = write(1, 600);
  middle.payload = bytes(kMtu - 1);
  EXPECT_THAT(sent(middle), Optional(HasSubstr("not the last")));
}

TEST_F(FlowObserverTest, ComplainsAboutAnEndOfMessageWithoutAckReq) {
  WireView packet = send_only(100);
  packet.ack_request = false;
  EXPECT_THAT(sent(packet), Optional(HasSubstr("without AckReq")));
}

// --- The responder ---

TEST_F(FlowObserverTest, ComplainsAboutAnAcknowledgementOfWhatHasNotCome) {
  EXPECT_THAT(sent(send_only(100)), Eq(std::nullopt));
  EXPECT_THAT(answered(acknowledge(100, 1)), Optional(HasSubstr("has not come yet")));
}

TEST_F(FlowObserverTest, ComplainsAboutAReceiveThatCompletesBeforeItsAcknowledgementLeaves) {
  request(send_only(100));
  EXPECT_THAT(observer_.on_receive_completed(Time{}),
              Optional(HasSubstr("before its acknowledgement leaves")));
  request(send_only(101));
  response(acknowledge(101, 2));
  EXPECT_THAT(observer_.on_receive_completed(Time{}), Eq(std::nullopt));
}

TEST_F(FlowObserverTest, LetsAnAcknowledgementWaitForAFullPort) {
  request(send_only(100));
  now_ += 4ms;
  request(send_only(101));
  EXPECT_THAT(observer_.on_receive_completed(now_), Eq(std::nullopt));
  EXPECT_THAT(observer_.on_receive_completed(now_), Optional(HasSubstr("before its acknowledgement leaves")));
}

TEST_F(FlowObserverTest, LetsAnAcknowledgementWaitForTheResponsesBeforeIt) {
  request(read(100, 10));
  request(send_only(101));
  EXPECT_THAT(observer_.on_receive_completed(Time{}), Eq(std::nullopt));
  response(read_response(100, true, true, 10));
  request(send_only(102));
  EXPECT_THAT(observer_.on_receive_completed(Time{}),
              Optional(HasSubstr("before its acknowledgement leaves")));
  observer_.on_request_taken(read(100, 10), now_);
  request(send_only(103));
  EXPECT_THAT(observer_.on_receive_completed(Time{}), Eq(std::nullopt)) << "a response is repeated";
}

TEST_F(FlowObserverTest, AcceptsAnswersBehindARepeatedReadThatIsRefused) {
  request(read(100, 10));
  response(read_response(100, true, true, 10));
  observer_.on_request_taken(read(100, 10), now_);
  response(acknowledge(100, 1, kAccessNak));
  EXPECT_EQ(observer_.counts().repeated_reads_refused, 1u);
  request(send_only(101));
  response(acknowledge(101, 2));
}

TEST_F(FlowObserverTest, ComplainsAboutTheWrongMsn) {
  request(send_only(100));
  EXPECT_THAT(answered(acknowledge(100, 0)), Optional(HasSubstr("MSN 0 where 1..1 is right")));
}

TEST_F(FlowObserverTest, AcceptsTheOldMsnInsideAMessage) {
  request(write(0, 600));
  response(acknowledge(100, 0));
}

TEST_F(FlowObserverTest, ComplainsAboutASecondSequenceNakForOneGap) {
  EXPECT_THAT(sent(send_only(100)), Eq(std::nullopt));  // lost
  request(send_only(101));
  response(acknowledge(100, 0, kSequenceNak));
  EXPECT_THAT(answered(acknowledge(100, 0, kSequenceNak)), Optional(HasSubstr("second sequence NAK")));
}

TEST_F(FlowObserverTest, ComplainsAboutASequenceNakThatDoesNotNameTheExpectedPsn) {
  request(send_only(100));
  EXPECT_THAT(sent(send_only(101)), Eq(std::nullopt));  // lost
  request(send_only(102));
  EXPECT_THAT(answered(acknowledge(100, 0, kSequenceNak)), Optional(HasSubstr("does not name the expected")));
}

TEST_F(FlowObserverTest, ComplainsAboutAnAcknowledgementThatPassesAnUnansweredRead) {
  request(read(100, 10));
  request(send_only(101));
  EXPECT_THAT(answered(acknowledge(101, 2)), Optional(HasSubstr("passes the request")));
}

TEST_F(FlowObserverTest, ComplainsAboutAReadResponseOutOfOrder) {
  request(read(100, 1000));
  response(read_response(100, true, false, kMtu));
  EXPECT_THAT(answered(read_response(102, false, false, kMtu)), Optional(HasSubstr("neither FIRST nor")));
}

TEST_F(FlowObserverTest, ComplainsAboutAReadResponseOfTheWrongLength) {
  request(read(100, 1000));
  EXPECT_THAT(answered(read_response(100, true, false, kMtu - 1)),
              Optional(HasSubstr("255 bytes instead of 256")));
}

TEST_F(FlowObserverTest, ComplainsAboutAnAnswerAfterARefusal) {
  request(send_only(100));
  response(acknowledge(100, 0, kAccessNak));
  EXPECT_THAT(answered(acknowledge(100, 0)), Optional(HasSubstr("after a refusal")));
}

TEST_F(FlowObserverTest, NotesSinceWhenAnAcknowledgementOfARepeatIsOwed) {
  request(send_only(100));
  EXPECT_THAT(answered(acknowledge(100, 1)), Eq(std::nullopt));
  EXPECT_EQ(observer_.acknowledgement_pending_since(), transport::kNever);
  now_ += 1ms;
  observer_.on_request_taken(send_only(100), now_);
  EXPECT_EQ(observer_.acknowledgement_pending_since(), now_);
  EXPECT_THAT(answered(acknowledge(100, 1)), Eq(std::nullopt));
  EXPECT_EQ(observer_.acknowledgement_pending_since(), transport::kNever);
}

// --- Atomics ---

TEST_F(FlowObserverTest, CountsAtomicsWithTheReadsInFlight) {
  request(fetch_add(100));
  EXPECT_THAT(sent(read(101, 10)), Optional(HasSubstr("2 READs and atomics in flight")));
}

TEST_F(FlowObserverTest, ComplainsWhenAnAtomicIsRepeatedWithAnotherOperand) {
  request(fetch_add(100, 1));
  now_ += 5ms;
  EXPECT_THAT(sent(fetch_add(100, 2)), Optional(HasSubstr("not the same as the first time")));
}

TEST_F(FlowObserverTest, ComplainsWhenAnAcknowledgementPassesAnAtomic) {
  request(fetch_add(100));
  request(send_only(101));
  EXPECT_THAT(answered(acknowledge(101, 2)), Optional(HasSubstr("passes the request")));
}

TEST_F(FlowObserverTest, ComplainsAboutAnotherAnswerToTheSameAtomic) {
  request(fetch_add(100));
  EXPECT_THAT(answered(atomic_acknowledge(100, 17)), Eq(std::nullopt));
  now_ += 5ms;
  request(fetch_add(100));
  EXPECT_THAT(answered(atomic_acknowledge(100, 18)), Optional(HasSubstr("said 0x11 before")));
}

TEST_F(FlowObserverTest, ComplainsWhenAnAtomicIsAnsweredLikeARead) {
  request(fetch_add(100));
  EXPECT_THAT(answered(read_response(100, true, true, 8)), Optional(HasSubstr("another kind of response")));
}

}  // namespace
}  // namespace urnic::sim
