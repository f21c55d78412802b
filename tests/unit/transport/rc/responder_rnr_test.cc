// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A responder without a receive (facts 34 and 35).
#include <chrono>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcResponderRnr : public RcTest {
 protected:
  RcResponderRnr() {
    config_.min_rnr_timer = 20;
    connect();
  }

  static constexpr Duration kTimer = std::chrono::microseconds(10240);  // code 20, fact 35
};

TEST_F(RcResponderRnr, AnswersASendOnlyWithItsPsnAndTheTimer) {
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  EXPECT_EQ(count(Counter::kRnrNakSent), 1u);
  EXPECT_EQ(count(Counter::kOutOfBuffer), 1u);
}

TEST_F(RcResponderRnr, AnswersASendOnlyThatDoesNotAskForIt) {
  peer_sends(send_only(Psn(100), payload(10)).asking_for_ack(false));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
}

TEST_F(RcResponderRnr, AnswersASendFirst) {
  peer_sends(send_first(Psn(100), payload(1024)));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
}

TEST_F(RcResponderRnr, AnswersAnEmptySend) {
  peer_sends(send_only(Psn(100), {}));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
}

TEST_F(RcResponderRnr, AnswersAWriteOnlyWithImmediate) {
  peer_sends(write_only_with_immediate(Psn(100), payload(10), 7));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
}

// A WRITE needs its receive only with the packet that brings the immediate.
TEST_F(RcResponderRnr, AnswersTheLastPacketOfAWriteWithImmediate) {
  peer_sends(
      {write_first(Psn(100), payload(1024), 1030), write_last_with_immediate(Psn(101), payload(6), 7)});
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(101), 0)));
}

TEST_F(RcResponderRnr, NeedsNoReceiveForWritesAndReads) {
  peer_sends(write_message(Psn(100), payload(3000), kMtu));
  peer_sends(read_request(Psn(103), 0));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1), read_response_only(Psn(103), {}, 2)));
}

TEST_F(RcResponderRnr, SendsEveryTimerCode) {
  for (std::uint8_t code = 0; code < 32; ++code) {
    config_.min_rnr_timer = code;
    endpoint_.update(config_);
    peer_sends(send_only(Psn(100), payload(10)));
    EXPECT_THAT(sent(), ElementsAre(rnr_nak(code, Psn(100), 0)));
  }
}

TEST_F(RcResponderRnr, IsSilentAboutThePacketsBehindTheRefusedOne) {
  peer_sends(send_message(Psn(100), payload(3000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
  peer_sends(write_only(Psn(103), payload(10)));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(shared_memory_is_untouched());
}

// The requester waits for the timer, and then sends all again.
TEST_F(RcResponderRnr, AsksOnceForARepetitionThatWasLost) {
  peer_sends(send_message(Psn(100), payload(3000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));

  pass(kTimer - Duration(1));
  peer_sends(send_middle(Psn(101), payload(1024)));
  EXPECT_THAT(sent(), IsEmpty()) << "the network may have doubled it";
  pass(Duration(1));
  peer_sends(send_middle(Psn(101), payload(1024)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
  pass(2 * kTimer);
  peer_sends(send_last(Psn(102), payload(952)));
  EXPECT_THAT(sent(), IsEmpty());
}

// The timer may be shorter than the way: what comes for the first time may have left before the RNR NAK
// arrived.
TEST_F(RcResponderRnr, IsSilentAboutPacketsThatCrossedTheNak) {
  peer_sends(send_message(Psn(100), payload(2000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
  pass(2 * kTimer);
  peer_sends({send_only(Psn(102), payload(10)), send_only(Psn(103), payload(10))});
  EXPECT_THAT(sent(), IsEmpty());
  peer_sends(send_only(Psn(103), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
}

// The requester's wait begins when the RNR NAK leaves, which a full port may delay.
TEST_F(RcResponderRnr, CountsTheTimerFromWhenTheNakLeaves) {
  arrives(send_only(Psn(100), payload(10)));
  now_ += 2 * kTimer;
  arrives(send_only(Psn(101), payload(10)));
  drain();
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
  pass(kTimer - Duration(1));
  peer_sends(send_only(Psn(101), payload(10)));
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RcResponderRnr, AsksForTheRepetitionAlsoAfterItWasRefusedAgain) {
  const std::initializer_list<QpPacket> both = {send_only(Psn(100), payload(10)),
                                                send_only(Psn(101), payload(10))};
  for (int i = 0; i < 2; ++i) {
    peer_sends(both);
    EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
    pass(kTimer);
    peer_sends(send_only(Psn(101), payload(10)));
    EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
  }
}

// The program posts a receive while packets that follow the refused one are on their way: none of them may
// take it.
TEST_F(RcResponderRnr, DoesNotTakeALaterPacketBeforeTheRefusedOne) {
  peer_sends(send_only(Psn(100), payload(10)));
  sent();
  post_receives({1});
  peer_sends(send_only(Psn(101), payload(10)));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(receive_completions(), IsEmpty());
}

TEST_F(RcResponderRnr, TakesTheRefusedPacketOnceThereIsAReceive) {
  peer_sends(send_only(Psn(100), payload(10)));
  sent();
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcResponderRnr, RefusesAgainWhileThereIsNoReceive) {
  for (int i = 0; i < 3; ++i) {
    peer_sends(send_only(Psn(100), payload(10)));
    EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(100), 0)));
  }
}

TEST_F(RcResponderRnr, FinishesAWriteWithImmediateThatWasRefusedAtItsEnd) {
  const QpPacket last = write_last_with_immediate(Psn(101), payload(6, 1), 7);
  peer_sends({write_first(Psn(100), payload(1024), 1030), last});
  sent();
  post_receives({1});

  peer_sends(last);

  EXPECT_THAT(sent(), ElementsAre(ack(Psn(101), 1)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(shared_memory(0, 1030), payload(1024) + payload(6, 1));
}

TEST_F(RcResponderRnr, NeedsOneReceiveOnlyForALongMessage) {
  post_receives({1});
  peer_sends(send_message(Psn(100), payload(3000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
  peer_sends(send_only(Psn(103), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(20, Psn(103), 1)));
}

// A gap and a lack of receives at once: the gap is found first, for the missing packet may need the receive.
TEST_F(RcResponderRnr, NaksAGapRatherThanTheLackOfAReceive) {
  peer_sends(send_only(Psn(101), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
}

TEST_F(RcResponderRnr, AcknowledgesADuplicateWithoutAReceive) {
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(10)));
  sent();
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

}  // namespace
}  // namespace urnic::transport::test
