// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a responder does after it has refused a request for good.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcResponderError : public RcTest {
 protected:
  RcResponderError() { connect(); }

  void peer_writes_without_a_key() { peer_sends(write_only(Psn(100), payload(1)).with_rkey(Rkey{0xbad})); }
};

TEST_F(RcResponderError, EntersErrorWithItsNak) {
  peer_writes_without_a_key();
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcResponderError, FlushesReceivesInOrder) {
  post_receives({3, 1, 2});
  peer_writes_without_a_key();
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(3), Flushed(1), Flushed(2)));
  EXPECT_TRUE(receive_queue_.is_empty());
}

TEST_F(RcResponderError, FlushesItsOwnRequests) {
  post({send_wr(1, 10), send_wr(2, 10).unsignaled()});
  peer_writes_without_a_key();
  EXPECT_THAT(send_completions(), ElementsAre(Flushed(1), Flushed(2)));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

TEST_F(RcResponderError, AnswersNothingAfterItsNak) {
  peer_writes_without_a_key();
  sent();
  peer_sends({write_only(Psn(100), payload(1)), write_only(Psn(101), payload(1)), read_request(Psn(99), 1)});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderError, ExecutesNothingBehindTheRefusedRequest) {
  post_receives({1});
  peer_sends({write_only(Psn(100), payload(1)).with_rkey(Rkey{0xbad}), write_only(Psn(101), payload(1)),
              send_only(Psn(102), payload(1)), read_request(Psn(103), 1)});
  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kRemoteAccess, Psn(100), 0)));
  EXPECT_TRUE(shared_memory_is_untouched());
  EXPECT_THAT(receive_completions(), ElementsAre(Flushed(1)));
}

TEST_F(RcResponderError, SaysAccessErrorForA0x62) {
  peer_writes_without_a_key();
  EXPECT_THAT(events(), Contains(QpEvent::kAccessError));
  EXPECT_EQ(events_.last_qp(), kOurQp);
}

TEST_F(RcResponderError, SaysRequestErrorForA0x61) {
  peer_sends(write_middle(Psn(100), payload(1024)));
  EXPECT_THAT(events(), Contains(QpEvent::kRequestError));
  EXPECT_EQ(events_.last_qp(), kOurQp);
}

TEST_F(RcResponderError, SaysNothingWhileAllIsWell) {
  post_receives({1});
  peer_sends({send_only(Psn(100), payload(1)), write_only(Psn(101), payload(1)), read_request(Psn(102), 1),
              write_only(Psn(104), payload(1))});
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(RcResponderError, SpeaksOnce) {
  peer_writes_without_a_key();
  peer_writes_without_a_key();
  EXPECT_EQ(events().size(), 1u);
}

// Both ends may fail at once: requests and responses of a dead connection are dropped alike.
TEST_F(RcResponderError, DropsResponsesToo) {
  post(send_wr(1, 10));
  peer_writes_without_a_key();
  send_completions();
  sent();
  peer_sends({ack(Psn(200), 1), nak(Nak::kSequenceError, Psn(200)), rnr_nak(1, Psn(200))});
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kWrongState), 3u);
}

}  // namespace
}  // namespace urnic::transport::test
