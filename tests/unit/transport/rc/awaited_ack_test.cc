// Until when a completion of a receive is to be kept from the program.
#include "transport/awaited_ack.h"

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

class RcAwaitedAck : public RcTest {
 protected:
  RcAwaitedAck() {
    connect();
    post_receives({1, 2, 3, 4});
  }
  std::size_t waiting() const { return receive_completions_.waiting(); }
};

TEST_F(RcAwaitedAck, LeavesWithTheAcknowledgement) {
  arrives(send_only(Psn(100), payload(1)));
  EXPECT_EQ(waiting(), 1u);
  EXPECT_EQ(poll_one(), ack(Psn(100), 1));
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, IsNoneWhereThePeerDidNotAsk) {
  arrives(read_request(Psn(100), 5000));
  arrives(send_only(Psn(105), payload(1)).asking_for_ack(false));
  EXPECT_EQ(receive_completions().size(), 1u);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, LeavesWithTheFirstResponseToALaterRead) {
  arrives(send_only(Psn(100), payload(1)));
  arrives(read_request(Psn(101), 5000));
  EXPECT_EQ(waiting(), 1u);
  ASSERT_TRUE(poll_one());
  EXPECT_EQ(waiting(), 0u);
  EXPECT_TRUE(endpoint_.has_pending_response());
}

TEST_F(RcAwaitedAck, DoesNotLeaveWithResponsesToAnEarlierRead) {
  arrives(read_request(Psn(100), 2000));
  arrives(send_only(Psn(102), payload(1)));
  ASSERT_TRUE(poll_one());
  ASSERT_TRUE(poll_one());
  EXPECT_EQ(waiting(), 1u);
  EXPECT_EQ(poll_one(), ack(Psn(102), 2));
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, LeavesWithANakOfALaterPacket) {
  arrives(send_only(Psn(100), payload(1)));
  arrives(send_only(Psn(102), payload(1)));
  EXPECT_EQ(poll_one(), nak(Nak::kSequenceError, Psn(101), 1));
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, IsTheNakOfAReceiveThatFails) {
  arrives(send_first(Psn(100), payload(1024)));
  for (std::uint32_t i = 1; i < 5; ++i) arrives(send_middle(Psn(100 + i), payload(1024)));
  EXPECT_EQ(receive_completions().size(), 1u);
  EXPECT_EQ(waiting(), 1u);
  drain();
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, IsNotAwaitedAfterTheQueuePairFailed) {
  arrives(send_only(Psn(100), payload(1)));
  endpoint_.to_error();
  drain();
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, IsNotAwaitedWhenItCannotLeave) {
  arrives(send_only(Psn(100), payload(1)));
  endpoint_.release_completions();
  EXPECT_EQ(waiting(), 0u);
  arrives(send_only(Psn(101), payload(1)));
  EXPECT_EQ(waiting(), 1u);
}

TEST_F(RcAwaitedAck, IsNotAwaitedWhenTheNakCannotLeave) {
  endpoint_.reset();
  connect();
  post_receives({1}, 9);
  arrives(send_only(Psn(100), payload(10)));
  EXPECT_EQ(waiting(), 1u);
  endpoint_.release_completions();
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(RcAwaitedAck, GoesRoundWithThePsn) {
  endpoint_.reset();
  config_.receive_psn = Psn(0xffffff);
  connect();
  post_receives({1, 2});
  arrives(send_only(Psn(0xffffff), payload(1)));
  arrives(send_only(Psn(0), payload(1)));
  EXPECT_EQ(waiting(), 2u);
  EXPECT_EQ(poll_one(), ack(Psn(0), 2));
  EXPECT_EQ(waiting(), 0u);
}

}  // namespace
}  // namespace urnic::transport::test
