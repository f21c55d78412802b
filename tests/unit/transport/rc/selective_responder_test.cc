// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Selective repeat at the responder: what it holds, when it executes it, and what it says
// (recovery/SELECTIVE_REPEAT.md).
#include <initializer_list>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

auto Received(std::uint64_t wr_id, std::uint32_t bytes) {
  return AllOf(Field(&Completion::wr_id, wr_id), Field(&Completion::byte_length, bytes));
}

class RcSelectiveResponder : public RcTest {
 protected:
  RcSelectiveResponder() { config_.recovery = Recovery::kSelectiveRepeat; }

  static QpPacket write(std::uint32_t psn) {
    return write_only(Psn(psn), payload(10, static_cast<std::uint8_t>(psn)), kShared + (psn & 0xff) * 16);
  }
  bool has_written(std::uint32_t psn) const {
    return shared_memory((psn & 0xff) * 16, 10) == payload(10, static_cast<std::uint8_t>(psn));
  }
};

TEST_F(RcSelectiveResponder, HoldsWhatOvertakesAndExecutesItInItsTurn) {
  connect();
  const auto message = write_message(Psn(100), payload(3000), kMtu);

  peer_sends(message[2]);
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(100), {102}, 0)));
  peer_sends(message[1]);
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(100), {101, 102}, 0)));
  EXPECT_TRUE(shared_memory_is_untouched());

  peer_sends(message[0].asking_for_ack(false));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
  EXPECT_EQ(shared_memory(0, 3000), payload(3000));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(103));
  EXPECT_EQ(count(Counter::kOutOfSequence), 2u);
}

TEST_F(RcSelectiveResponder, AnswersABurstOnce) {
  connect();
  peer_sends({write(101), write(103), write(104)});
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(100), {101, 103, 104}, 0)));
}

TEST_F(RcSelectiveResponder, SaysWhereTheNextGapIs) {
  connect();
  peer_sends({write(101), write(103), write(105)});
  sent();
  peer_sends(write(100));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(102), {103, 105}, 2)));
  EXPECT_TRUE(has_written(100));
  EXPECT_TRUE(has_written(101));
  EXPECT_FALSE(has_written(103));
  peer_sends(write(104));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(102), {103, 104, 105}, 2)));
  peer_sends(write(102));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(105), 6)));
  EXPECT_TRUE(has_written(105));
}

TEST_F(RcSelectiveResponder, AcknowledgesWhenTheLastGapClosesWithoutBeingAsked) {
  connect();
  peer_sends(write(101).asking_for_ack(false));
  sent();
  peer_sends(write(100).asking_for_ack(false));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(101), 2)));
}

TEST_F(RcSelectiveResponder, HoldsTheFirstCopyOfAPacket) {
  connect();
  peer_sends({write(101), write_only(Psn(101), payload(10, 77), kShared + 101 * 16)});
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(100), {101}, 0)));
  peer_sends(write(100));
  EXPECT_TRUE(has_written(101));
}

TEST_F(RcSelectiveResponder, ReachesTwoHundredFiftySixPacketsAhead) {
  config_.receive_psn = Psn(0xffff80);
  connect();
  peer_sends(write((0xffff80 + 257) & 0xffffff));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(0xffff80), {}, 0)));
  peer_sends(write((0xffff80 + 256) & 0xffffff));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(0xffff80), {0xffff80 + 256}, 0)));
}

TEST_F(RcSelectiveResponder, HoldsAWholeReachOfPackets) {
  config_.receive_psn = Psn(0xffff80);
  connect();
  for (std::uint32_t i = 256; i > 0; --i) arrives(write((0xffff80 + i) & 0xffffff));
  drain();
  EXPECT_THAT(sent(), SizeIs(1));
  peer_sends(write(0xffff80));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(0x80), 257)));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(0x81));
}

// A packet that was too far ahead is forgotten when the expected one comes: no NAK is owed, and the ACK says
// so.
TEST_F(RcSelectiveResponder, AcknowledgesInsteadOfTheNakThatTheExpectedPacketMadeWrong) {
  connect();
  peer_sends({write(400), write(100).asking_for_ack(false)});
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
}

TEST_F(RcSelectiveResponder, RepeatsTheNakForADuplicateWhileItHoldsPackets) {
  connect();
  peer_sends(write(100));
  peer_sends(write(102));
  sent();
  peer_sends(write(100));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(101), {102}, 1)));
  peer_sends(write(101));
  sent();
  peer_sends(write(100));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 3)));
}

TEST_F(RcSelectiveResponder, CompletesReceivesInTheOrderOfPsns) {
  connect();
  post_receives({1, 2, 3});
  peer_sends({send_only(Psn(102), payload(12)), send_only(Psn(101), payload(11))});
  EXPECT_THAT(receive_completions(), IsEmpty());
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(receive_completions(), ElementsAre(Received(1, 10), Received(2, 11), Received(3, 12)));
  EXPECT_EQ(receive_memory(0, 10), payload(10));
}

TEST_F(RcSelectiveResponder, AnswersAReadThatItHeld) {
  connect();
  const Remote from = kShared + 0x8000;
  peer_sends({read_request(Psn(101), 2000, from), write(103)});
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(100), {101, 103}, 0)));
  peer_sends(write(100));
  EXPECT_THAT(sent(), ElementsAre(read_response_first(Psn(101), pattern(from.address, 1024), 2),
                                  read_response_last(Psn(102), pattern(from.address + 1024, 976), 2),
                                  ack(Psn(103), 3)));
}

// The refused packet must come again; the packet after it need not.
TEST_F(RcSelectiveResponder, RefusesAHeldPacketThatFindsNoReceiveAndKeepsThoseBehindIt) {
  connect();
  post_receives({1});
  peer_sends({send_only(Psn(101), payload(11)), send_only(Psn(102), payload(12))});
  sent();
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(config_.min_rnr_timer, Psn(101), 1)));
  post_receives({2, 3});
  peer_sends(send_only(Psn(103), payload(13)));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(101), {102, 103}, 1)));
  peer_sends(send_only(Psn(101), payload(11)));
  EXPECT_THAT(sent(), ElementsAre(rnr_nak(config_.min_rnr_timer, Psn(103), 3)));
  EXPECT_THAT(receive_completions(), ElementsAre(Received(1, 10), Received(2, 11), Received(3, 12)));
}

TEST_F(RcSelectiveResponder, EndsTheConnectionOverAHeldPacketThatReachesWhereItMayNot) {
  connect();
  peer_sends({write(101).with_rkey(Rkey{0xbad}), write(102)});
  sent();
  peer_sends(write(100));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(101), 1)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_FALSE(has_written(102));
}

// Its turn will come, and with it the refusal.
TEST_F(RcSelectiveResponder, DoesNotHoldMoreThanAPathMtu) {
  connect();
  peer_sends(write_only(Psn(101), payload(1028)));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(100), {}, 0)));
  peer_sends({write(100), write_only(Psn(101), payload(1028))});
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(101), 1)));
}

TEST_F(RcSelectiveResponder, ForgetsHeldPacketsThatAReadOfManyPsnsPasses) {
  connect();
  peer_sends({write(101), write(102)});
  sent();
  peer_sends(read_request(Psn(100), 3 * kMtu));
  EXPECT_EQ(sent(), read_responses(Psn(100), pattern(kShared.address, 3 * kMtu), kMtu, 1));
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(103));
  peer_sends(write(104));
  EXPECT_THAT(sent(), ElementsAre(selective_nak(Psn(103), {104}, 1)));
}

TEST_F(RcSelectiveResponder, HoldsNothingOfAnEarlierConnection) {
  connect();
  peer_sends(write(101));
  endpoint_.reset();
  sent();
  connect();
  peer_sends(write(100));
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(100), 1)));
  EXPECT_FALSE(has_written(101));
}

}  // namespace
}  // namespace urnic::transport::test
