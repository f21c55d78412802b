// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// States of a UD endpoint, and shared receive queues.
#include "transport/ud/endpoint.h"

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Beside its rings; most of it is room for the elements of the receive in hand.
static_assert(sizeof(UdEndpoint) < 1024);

class UdEndpointStates : public UdTest {};

class UdEndpointWithSharedQueue : public UdTest {
 protected:
  UdEndpointWithSharedQueue() : UdTest(true) { connect(); }
};

class LimitCounter final : public LimitSink {
 public:
  void on_limit_reached() override { ++reached_; }
  int reached() const { return reached_; }

 private:
  int reached_ = 0;
};

TEST_F(UdEndpointStates, ReceivesOnceReadyToReceiveAndNamesNoPeer) {
  connect_to_init();
  post_receives({1});
  peer_sends(datagram(payload(5)));
  EXPECT_EQ(count(Counter::kWrongState), 1u);
  endpoint_.to_ready_to_receive(config_);
  peer_sends(datagram(payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_THAT(events(), IsEmpty()) << "any queue pair may have sent it: no communication is established";
}

TEST_F(UdEndpointStates, SendsOnlyOnceReadyToSend) {
  connect_to_rtr();
  post(datagram_wr(1, 5));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(endpoint_.next_destination().address, AddressHandleId{});
  endpoint_.to_ready_to_send(config_);
  drain();
  EXPECT_THAT(sent(), ElementsAre(to_peer(Psn(200), local_memory(0, 5))));
}

TEST_F(UdEndpointStates, ReceivesWhileTheSendQueueIsStoppedOrDraining) {
  connect();
  post_receives({1, 2});
  post(datagram_wr(9, kMtu + 1));
  ASSERT_EQ(endpoint_.state(), QpState::kSqError);
  peer_sends(datagram(payload(5)));
  endpoint_.to_ready_to_send(config_);
  endpoint_.to_send_queue_drained(config_);
  peer_sends(datagram(payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1), Succeeded(2)));
}

TEST_F(UdEndpointStates, FlushesBothQueuesInError) {
  connect();
  post_receives({1, 2});
  post_quietly(datagram_wr(3, 5));
  endpoint_.to_error();
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(3)));
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1), Flushed(2)));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(UdEndpointStates, ForgetsEverythingInReset) {
  connect();
  post_receives({1});
  post(datagram_wr(2, 5));
  sent();
  post_quietly(datagram_wr(3, 5));
  endpoint_.reset();
  EXPECT_EQ(endpoint_.state(), QpState::kReset);
  EXPECT_TRUE(receive_queue_.is_empty());
  EXPECT_TRUE(send_queue_.is_empty());
  connect();
  post(datagram_wr(4, 5));
  EXPECT_THAT(sent(), ElementsAre(to_peer(Psn(200), local_memory(0, 5))));
}

TEST_F(UdEndpointStates, RunsNoTimerAndHasNoPendingResponse) {
  connect();
  post_receives({1});
  peer_sends(datagram(payload(5)).asking_for_ack());
  post(datagram_wr(1, 5));
  EXPECT_EQ(endpoint_.next_timeout(), kNever);
  EXPECT_FALSE(endpoint_.has_pending_response());
  EXPECT_EQ(endpoint_.msn(), 0u);
}

TEST_F(UdEndpointWithSharedQueue, TakesReceivesAndReachesTheLimitOnlyWithDatagramsThatFit) {
  LimitCounter limit;
  receive_queue_.arm_limit(1, &limit);
  post_receives({1}, 50);
  peer_sends(datagram(payload(11)));
  EXPECT_EQ(limit.reached(), 0);
  peer_sends(datagram(payload(10)));
  EXPECT_EQ(limit.reached(), 1);
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(UdEndpointWithSharedQueue, LeavesTheSharedQueueAloneInErrorAndSaysSoOnce) {
  post_receives({1});
  endpoint_.to_error();
  drain();
  drain();
  EXPECT_THAT(receive_completions(), IsEmpty());
  EXPECT_EQ(receive_queue_.size(), 1u);
  EXPECT_THAT(events(), ElementsAre(QpEvent::kLastWqeReached));
}

TEST_F(UdEndpointWithSharedQueue, SaysSoBehindTheFaultThatBrokeIt) {
  post_receive(1, {{.address = kReceiveAddress, .length = 100, .lkey = Lkey{0xbad}}});
  peer_sends(datagram(payload(5)));
  EXPECT_THAT(receive_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
  EXPECT_THAT(events(), ElementsAre(QpEvent::kLastWqeReached));
}

}  // namespace
}  // namespace urnic::transport::test
