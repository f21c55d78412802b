// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// States of a reliable connection: what it does in each, flushing, reset, events.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcEndpointState : public RcTest {};

TEST_F(RcEndpointState, GoesFromResetToRts) {
  EXPECT_EQ(endpoint_.state(), QpState::kReset);
  endpoint_.to_init(config_);
  EXPECT_EQ(endpoint_.state(), QpState::kInit);
  endpoint_.to_ready_to_receive(config_);
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToReceive);
  endpoint_.to_ready_to_send(config_);
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcEndpointState, TakesPsnsFromItsConfiguration) {
  connect();
  EXPECT_EQ(endpoint_.next_receive_psn(), Psn(100));
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(200));
  EXPECT_EQ(endpoint_.config().remote_qp, kPeerQp);
}

TEST_F(RcEndpointState, KnowsThePsnItWillSendNext) {
  connect();
  post({write_wr(1, 3000), send_wr(2, 1)});
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(204));
}

// Fact 14.
TEST_F(RcEndpointState, DropsPacketsInReset) {
  peer_sends({send_only(Psn(100), payload(1)), ack(Psn(200)), read_request(Psn(100), 1)});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kWrongState), 3u);
}

// Fact 14: requests need RTR.
TEST_F(RcEndpointState, DropsRequestsInInit) {
  connect_to_init();
  post_receives({1});
  peer_sends(send_only(config_.receive_psn, payload(1)));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_EQ(count(Counter::kWrongState), 1u);
}

// Fact 14: from RTR on.
TEST_F(RcEndpointState, AnswersRequestsInRtr) {
  connect_to_rtr();
  post_receives({1});
  peer_sends({read_request(Psn(100), 1), send_only(Psn(101), payload(1))});
  EXPECT_EQ(sent().size(), 2u);
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

// Fact 14: responses need RTS.
TEST_F(RcEndpointState, DropsResponsesInRtr) {
  connect_to_rtr();
  peer_sends({ack(Psn(200)), nak(Nak::kRemoteAccess, Psn(200))});
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToReceive);
  EXPECT_EQ(count(Counter::kWrongState), 2u);
}

TEST_F(RcEndpointState, SendsNothingOfItsOwnBeforeRts) {
  connect_to_rtr();
  post(send_wr(1, 10));
  EXPECT_THAT(sent(), IsEmpty());
  endpoint_.to_ready_to_send(config_);
  drain();
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), pattern(kLocalAddress, 10))));
}

// A receiver that answered in RTR keeps what it knows.
TEST_F(RcEndpointState, KeepsTheRespondersHalfOnItsWayToRts) {
  connect_to_rtr();
  const auto packets = write_message(Psn(100), payload(3000), kMtu);
  peer_sends({packets[0], packets[1]});
  endpoint_.to_ready_to_send(config_);
  peer_sends(packets[2]);
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(102), 1)));
}

// Fact 47: data in RTR means that the peer is there.
TEST_F(RcEndpointState, SaysThatCommunicationIsEstablishedInRtr) {
  connect_to_rtr();
  post_receives({1, 2});
  EXPECT_THAT(events(), IsEmpty());
  peer_sends(send_only(Psn(100), payload(1)));
  EXPECT_THAT(events(), ElementsAre(QpEvent::kCommunicationEstablished));
  peer_sends(send_only(Psn(101), payload(1)));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(RcEndpointState, DoesNotSayInRtsThatCommunicationIsEstablished) {
  connect();
  peer_sends(write_only(Psn(100), payload(1)));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(RcEndpointState, FlushesBothQueuesInOrderInError) {
  connect();
  post({send_wr(3, 10), write_wr(1, 10).unsignaled(), read_wr(2, 10)});
  post_receives({6, 4, 5});
  sent();
  endpoint_.to_error();
  drain();
  EXPECT_EQ(endpoint_.state(), QpState::kError);
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3), Flushed(1), Flushed(2)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(6), Flushed(4), Flushed(5)));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(send_queue_.is_empty());
  EXPECT_TRUE(receive_queue_.is_empty());
}

TEST_F(RcEndpointState, FlushesWhatIsPostedInError) {
  connect();
  endpoint_.to_error();
  drain();
  post({send_wr(1, 10), read_wr(2, 10)});
  post_receives({3});
  drain();
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(1), Flushed(2)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(3)));
}

TEST_F(RcEndpointState, FlushesReceivesPostedInInit) {
  connect_to_init();
  post_receives({1, 2});
  endpoint_.to_error();
  drain();
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1), Flushed(2)));
}

// Half a message has taken a receive from the ring; it is flushed first.
TEST_F(RcEndpointState, FlushesTheReceiveOfAMessageUnderWay) {
  connect();
  post_receives({1, 2});
  peer_sends(send_first(Psn(100), payload(1024)));
  endpoint_.to_error();
  drain();
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1), Flushed(2)));
}

TEST_F(RcEndpointState, RunsNoTimerInError) {
  connect();
  post(send_wr(1, 10));
  endpoint_.to_error();
  drain();
  EXPECT_EQ(until_timeout(), std::nullopt);
}

TEST_F(RcEndpointState, DropsPacketsInError) {
  connect();
  endpoint_.to_error();
  drain();
  peer_sends({write_only(Psn(100), payload(1)), write_only(Psn(101), payload(1)), ack(Psn(200))});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(shared_memory_is_untouched());
  EXPECT_EQ(count(Counter::kWrongState), 3u);
}

TEST_F(RcEndpointState, HasNoPendingResponseInError) {
  connect();
  arrives(write_only(Psn(100), payload(1)));
  endpoint_.to_error();
  drain();
  EXPECT_FALSE(endpoint_.has_pending_response());
}

TEST_F(RcEndpointState, CountsFailuresOfBothQueues) {
  connect();
  post(send_wr(1, 10));
  post_receives({2, 3}, 1);
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_EQ(count(Counter::kReceiveCompletionError), 1u);
  EXPECT_EQ(count(Counter::kSendCompletionError), 0u) << "flushed is a consequence, not an error";
}

TEST_F(RcEndpointState, ForgetsBothQueuesInReset) {
  connect();
  post({send_wr(1, 10), read_wr(2, 10)});
  post_receives({3});
  endpoint_.reset();
  drain();
  EXPECT_EQ(endpoint_.state(), QpState::kReset);
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_TRUE(send_queue_.is_empty());
  EXPECT_TRUE(receive_queue_.is_empty());
  EXPECT_EQ(until_timeout(), std::nullopt);
}

// Fact 40: a stale PSN after reconnecting would make everything a duplicate.
TEST_F(RcEndpointState, ConnectsAnewAfterReset) {
  connect();
  post_receives({1});
  post({write_wr(1, 3000), read_wr(2, 3000)});
  peer_sends({send_first(Psn(100), payload(1024)), read_request(Psn(101), 10)});
  endpoint_.reset();
  sent();
  send_completions();
  receive_completions();

  config_.receive_psn = Psn(0x500);
  config_.send_psn = Psn(0x900);
  connect();
  post_receives({4});
  post(send_wr(5, 10));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(0x900), pattern(kLocalAddress, 10))));
  peer_sends({ack(Psn(0x900), 1), send_only(Psn(0x500), payload(10))});
  EXPECT_THAT(sent(), ElementsAre(ack(Psn(0x500), 1)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(4)));
}

TEST_F(RcEndpointState, ConnectsAnewAfterAnError) {
  connect();
  post(send_wr(1, 10));
  peer_sends(nak(Nak::kRemoteAccess, Psn(200)));
  endpoint_.reset();
  connect();
  sent();
  send_completions();
  post(send_wr(2, 10));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), pattern(kLocalAddress, 10))));
  peer_sends(ack(Psn(200), 1));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(2)));
}

// An RNR wait, a gap and a pending READ are forgotten with the rest.
TEST_F(RcEndpointState, ForgetsWaitsGapsAndDebtsInReset) {
  connect();
  post(send_wr(1, 10));
  peer_sends({rnr_nak(0, Psn(200)), write_only(Psn(105), payload(1))});
  arrives(read_request(Psn(100), 3000));
  endpoint_.reset();
  sent();

  connect();
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_FALSE(endpoint_.has_pending_response());
  peer_sends(read_request(Psn(99), 10));
  EXPECT_THAT(sent(), IsEmpty()) << "a duplicate of a READ of the connection before";
  post(send_wr(2, 10));
  EXPECT_EQ(sent().size(), 1u);
  peer_sends(write_only(Psn(101), payload(1)));
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kSequenceError, Psn(100), 0)));
}

TEST_F(RcEndpointState, WritesNothingWhenThereIsNothingToSend) {
  connect();
  EXPECT_EQ(poll_one(), std::nullopt);
}

}  // namespace
}  // namespace urnic::transport::test
