// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// States of a UC endpoint: when it receives and sends, what it flushes, and what RESET forgets.
#include "transport/uc/endpoint.h"

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Beside its rings; most of it is room for the elements of the receive in hand.
static_assert(sizeof(UcEndpoint) < 1024);

class UcEndpointStates : public UcTest {};

class UcEndpointWithSharedQueue : public UcTest {
 protected:
  UcEndpointWithSharedQueue() : UcTest(true) { connect(); }
};

TEST_F(UcEndpointStates, BeginsInReset) {
  EXPECT_EQ(endpoint_.state(), QpState::kReset);
  EXPECT_EQ(endpoint_.next_timeout(), kNever);
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{});
}

TEST_F(UcEndpointStates, DropsPacketsBeforeItIsReadyToReceive) {
  connect_to_init();
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(5)));
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_EQ(count(Counter::kWrongState), 1u);
}

TEST_F(UcEndpointStates, SendsOnlyOnceItIsReadyToSend) {
  connect_to_rtr();
  post(send_wr(1, 5));
  EXPECT_THAT(sent(), IsEmpty());
  endpoint_.to_ready_to_send(config_);
  drain();
  EXPECT_THAT(sent(), SizeIs(1));
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(UcEndpointStates, SaysOnceThatThePeerIsThereBeforeItIsReadyToSend) {
  connect_to_rtr();
  post_receives({1, 2, 3});
  peer_sends({send_only(Psn(100), payload(5)), send_only(Psn(101), payload(5))});
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
  EXPECT_THAT(events(), ElementsAre(QpEvent::kCommunicationEstablished));
  EXPECT_EQ(events_.last_qp(), kOurQp);
  endpoint_.to_ready_to_send(config_);
  peer_sends(send_only(Psn(102), payload(5)));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UcEndpointStates, DoesNotSayThatThePeerIsThereOnceReadyToSend) {
  connect();
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(5)));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UcEndpointStates, ReceivesWhileDraining) {
  connect();
  post_receives({1});
  endpoint_.to_send_queue_drained(config_);
  peer_sends(send_only(Psn(100), payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(UcEndpointStates, FlushesBothQueuesInErrorNowAndLater) {
  connect();
  post_receives({1, 2});
  post_quietly(send_wr(3, 5));
  endpoint_.to_error();
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1), Flushed(2)));
  post_receives({4});
  post(write_wr(5, 5));
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(4)));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UcEndpointStates, FlushesTheReceiveOfAMessageUnderWayFirst) {
  connect();
  post_receives({1, 2});
  peer_sends(send_first(Psn(100), payload(1024)));
  endpoint_.to_error();
  drain();
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1), Flushed(2)));
  peer_sends(send_last(Psn(101), payload(5)));
  EXPECT_THAT(receive_completions(), IsEmpty());
}

TEST_F(UcEndpointStates, FlushesAMessageThatWasSentInPart) {
  connect();
  post_quietly(send_wr(1, 2000));
  ASSERT_TRUE(poll_bytes());
  endpoint_.to_error();
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(1)));
}

TEST_F(UcEndpointStates, BeginsAnewAfterReset) {
  connect();
  post_receives({1, 2});
  peer_sends(send_first(Psn(100), payload(1024)));
  post_quietly(send_wr(3, 2000));
  ASSERT_TRUE(poll_bytes());
  endpoint_.reset();
  EXPECT_EQ(endpoint_.state(), QpState::kReset);
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), IsEmpty());

  connect();
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  post(send_wr(4, 5));
  EXPECT_THAT(sent(), ElementsAre(as_uc(send_only(Psn(200), local_memory(0, 5)))));
  post_receives({5});
  peer_sends({send_last(Psn(101), payload(5)), send_only(Psn(102), payload(7))});
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(5)));
}

TEST_F(UcEndpointStates, CanBeUsedAgainAfterAnErrorAndReset) {
  connect();
  post_receive(1, {{.address = 0, .length = 100, .lkey = Lkey{0xbad}}});
  peer_sends(send_only(Psn(100), payload(10)));
  ASSERT_EQ(endpoint_.state(), QpState::kError);
  receive_completions();
  endpoint_.reset();
  connect();
  post_receives({2});
  peer_sends(send_only(Psn(100), payload(10)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(2)));
}

TEST_F(UcEndpointStates, TakesNewAttributesWithoutAChangeOfState) {
  connect();
  config_.access = Access::kNone;
  endpoint_.update(config_);
  EXPECT_EQ(endpoint_.config().access, Access::kNone);
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

// There are queue pairs that only send.
TEST_F(UcEndpointStates, DropsPacketsWithoutAReceiveQueue) {
  QpDependencies deps = dependencies();
  deps.receiver = {};
  UcEndpoint endpoint(deps);
  endpoint.to_init(config_);
  endpoint.to_ready_to_receive(config_);
  endpoint.to_ready_to_send(config_);
  const QpPacket packet = as_uc(send_only(Psn(100), payload(5)));
  endpoint.on_packet(packet.view(kOurQp), now_);
  EXPECT_EQ(count(Counter::kWrongState), 1u);
  endpoint.to_error();
  std::vector<std::byte> out(kMaxPacketHeaderBytes + kMtu);
  EXPECT_EQ(endpoint.poll_transmit(out, now_).size, 0u);
}

TEST_F(UcEndpointWithSharedQueue, LeavesTheSharedQueueAloneInErrorAndSaysSoOnce) {
  post_receives({1, 2});
  post_quietly(send_wr(3, 5));
  endpoint_.to_error();
  drain();
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3)));
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_EQ(receive_queue_.size(), 2u);
  drain();
  EXPECT_THAT(events(), ElementsAre(QpEvent::kLastWqeReached));
}

TEST_F(UcEndpointWithSharedQueue, FlushesTheReceiveThatItHasInHand) {
  post_receives({1, 2});
  peer_sends(send_first(Psn(100), payload(1024)));
  endpoint_.to_error();
  drain();
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1)));
  EXPECT_EQ(receive_queue_.size(), 1u);
}

TEST_F(UcEndpointWithSharedQueue, DoesNotClearTheSharedQueueInReset) {
  post_receives({1, 2});
  endpoint_.reset();
  EXPECT_EQ(receive_queue_.size(), 2u);
}

}  // namespace
}  // namespace urnic::transport::test
