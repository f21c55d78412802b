// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A responder that says nothing for a while about a key that was taken back, and then refuses it.
#include <chrono>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Rkey kGone{0xbad};
constexpr Duration kSilence = 1600us;
constexpr Duration kInstant = 1ns;

class RcResponderSilence : public RcTest {
 protected:
  RcResponderSilence() {
    connect();
    withdrawn_keys_.withdraw(kGone, now_ + kSilence);
  }
  static QpPacket write_to_gone(Psn psn) { return write_only(psn, payload(10)).with_rkey(kGone); }
  /// Nothing leaves until the silence ends; then the refusal does, and the connection ends.
  void expect_silence_and_nak(Psn psn, std::uint32_t msn = 0) {
    EXPECT_THAT(sent(), IsEmpty());
    pass(kSilence - kInstant);
    EXPECT_THAT(sent(), IsEmpty());
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
    EXPECT_THAT(events(), Not(Contains(QpEvent::kAccessError)));
    pass(kInstant);
    EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, psn, msn)));
    EXPECT_EQ(endpoint_.state(), QpState::kError);
    EXPECT_EQ(count(Counter::kRequestAccessError), 1u);
    EXPECT_THAT(events(), Contains(QpEvent::kAccessError));
  }
  /// The shared region goes, and nothing is said about it for a while.
  void withdraw_shared_region() {
    dma_.remove_region(to_integer(kShared.rkey));
    withdrawn_keys_.withdraw(kShared.rkey, now_ + kSilence);
  }
};

TEST_F(RcResponderSilence, EndsWithTheRefusalOfAWrite) {
  peer_sends(write_to_gone(Psn(100)));
  expect_silence_and_nak(Psn(100));
}

TEST_F(RcResponderSilence, EndsWithTheRefusalOfARead) {
  peer_sends(read_request(Psn(100), 10).with_rkey(kGone));
  expect_silence_and_nak(Psn(100));
}

// What repeats is the peer's timer, and no repetition ends the silence.
TEST_F(RcResponderSilence, LastsWhateverThePeerSendsAgain) {
  peer_sends(write_to_gone(Psn(100)));
  pass(kSilence / 2);
  peer_sends({write_to_gone(Psn(100)), send_only(Psn(101), payload(1)), read_request(Psn(103), 10)});
  EXPECT_THAT(sent(), IsEmpty());
  pass(kSilence - kSilence / 2);
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
}

TEST_F(RcResponderSilence, IsOverForARequestThatComesLater) {
  pass(kSilence);
  peer_sends(write_to_gone(Psn(100)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcResponderSilence, CountsFromTheWithdrawalAndNotFromTheRequest) {
  pass(kSilence - 100us);
  peer_sends(write_to_gone(Psn(100)));
  EXPECT_THAT(sent(), IsEmpty());
  pass(100us);
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
}

TEST_F(RcResponderSilence, IsOfThatKeyAlone) {
  peer_sends(write_only(Psn(100), payload(10)).with_rkey(Rkey{0xbae}));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
}

TEST_F(RcResponderSilence, IsNotOfRefusalsForAnotherReason) {
  withdrawn_keys_.withdraw(kShared.rkey, now_ + kSilence);  // and yet there
  peer_sends(write_only(Psn(100), payload(10), kShared + kRegionBytes));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
}

TEST_F(RcResponderSilence, AcknowledgesWhatWasExecutedBefore) {
  peer_sends({write_only(Psn(100), payload(10)), write_to_gone(Psn(101))});
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  expect_silence_and_nak(Psn(101), 1);
}

TEST_F(RcResponderSilence, BeginsInTheMiddleOfAWrite) {
  const auto packets = write_message(Psn(100), payload(3000), kMtu);
  peer_sends(packets[0]);
  sent();
  withdraw_shared_region();
  peer_sends({packets[1], packets[2]});
  expect_silence_and_nak(Psn(101));
}

TEST_F(RcResponderSilence, BeginsBetweenAReadAndItsData) {
  arrives(read_request(Psn(100), 10));
  withdraw_shared_region();
  drain();
  expect_silence_and_nak(Psn(100), 1);
}

TEST_F(RcResponderSilence, IsOfRepeatedReadsWhichEndNoConnection) {
  peer_sends(read_request(Psn(100), 10));
  sent();
  withdraw_shared_region();
  peer_sends(read_request(Psn(100), 10));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_FALSE(endpoint_.has_pending_response());
  pass(kSilence);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  peer_sends(read_request(Psn(100), 10));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 1)));
}

TEST_F(RcResponderSilence, FailsTheReceiveOfAWriteWhenItEnds) {
  post_receives({1});
  peer_sends(write_only_with_immediate(Psn(100), payload(10), 7).with_rkey(kGone));
  EXPECT_THAT(receive_completions(), IsEmpty());
  pass(kSilence);
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalAccessError)));
}

TEST_F(RcResponderSilence, FailsNoReceiveOfAQueueThatIsGone) {
  post_receives({1, 2});
  peer_sends(write_only_with_immediate(Psn(100), payload(10), 7).with_rkey(kGone));
  endpoint_.forget_receiver(receive_queue_);
  pass(kSilence);
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
  EXPECT_THAT(receive_completions(), IsEmpty());
}

TEST_F(RcResponderSilence, HoldsUpNothingThatTheProgramSends) {
  peer_sends(write_to_gone(Psn(100)));
  post(send_wr(1, 10));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), local_memory(0, 10))));
}

// The peer is told nothing any more, as it would be by a NIC whose queue pair ends within the silence.
TEST_F(RcResponderSilence, LastsForEverWhenTheQueuePairEnds) {
  peer_sends(write_to_gone(Psn(100)));
  EXPECT_TRUE(endpoint_.has_pending_response());
  endpoint_.flush_delayed_ack();
  EXPECT_FALSE(endpoint_.has_pending_response());
  drain();
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  pass(2 * kSilence);
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RcResponderSilence, LastsForEverAfterErr) {
  peer_sends(write_to_gone(Psn(100)));
  endpoint_.to_error();
  drain();
  EXPECT_EQ(endpoint_.next_timeout(), kNever);
  EXPECT_FALSE(endpoint_.has_pending_response());
  pass(2 * kSilence);
  EXPECT_THAT(sent(), IsEmpty());
}

TEST_F(RcResponderSilence, IsForgottenByReset) {
  peer_sends(write_to_gone(Psn(100)));
  endpoint_.reset();
  connect();
  peer_sends(write_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  pass(2 * kSilence);
  EXPECT_THAT(sent(), IsEmpty());
}

}  // namespace
}  // namespace urnic::transport::test
