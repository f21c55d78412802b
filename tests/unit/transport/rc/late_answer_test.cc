// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Answers that come after the ACK timer has expired, and before anything was repeated.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The timer has expired, nothing was repeated yet, and then what was thought lost arrives.
class RcLateAnswer : public RcTest {
 protected:
  void expire_without_sending() {
    sent();
    now_ += ack_timeout(config_.ack_timeout);
    endpoint_.on_timeout(now_);
  }
};

TEST_F(RcLateAnswer, OfAReadMakesItsRepetitionUnnecessary) {
  connect();
  post({read_wr(1, 2000), send_wr(2, 0)});
  expire_without_sending();
  peer_sends(read_responses(Psn(200), payload(2000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(202), {})));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcLateAnswer, OfPartOfAReadShortensItsRepetition) {
  connect();
  post(read_wr(1, 3000));
  expire_without_sending();
  peer_sends(read_response_first(Psn(200), payload(1024)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 1976, kShared + 1024)));
}

TEST_F(RcLateAnswer, OfPartOfAWriteShortensItsRepetition) {
  connect();
  post(write_wr(1, 3000));
  const auto first = sent();
  expire_without_sending();
  peer_sends(ack(Psn(200)));
  EXPECT_EQ(sent(), slice(first, 1, 2));
}

TEST_F(RcLateAnswer, OfEverythingLeavesNothingToRepeat) {
  connect();
  post({write_wr(1, 3000), read_wr(2, 10), send_wr(3, 10)});
  expire_without_sending();
  peer_sends({ack(Psn(202), 1), read_response_only(Psn(203), payload(10), 2), ack(Psn(204), 3)});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2), Succeeded(3)));
  EXPECT_EQ(until_timeout(), std::nullopt);
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(205));
}

// Windows and limits are as on a connection that never lost anything.
TEST_F(RcLateAnswer, LeavesTheLimitOfReadsAsItWas) {
  config_.max_reads_in_flight = 1;
  connect();
  post({read_wr(1, 2000), read_wr(2, 10), read_wr(3, 10)});
  expire_without_sending();
  peer_sends(read_responses(Psn(200), payload(2000), kMtu));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(202), 10)));
  peer_sends(read_response_only(Psn(202), payload(10)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(203), 10)));
}

TEST_F(RcLateAnswer, LeavesTheWindowAsItWas) {
  config_.window_packets = 4;
  connect();
  post({write_wr(1, 6 * kMtu), read_wr(2, 2000)});
  EXPECT_EQ(sent().size(), 4u);
  expire_without_sending();
  peer_sends(ack(Psn(203)));
  const auto rest = sent();
  ASSERT_THAT(rest, SizeIs(3));
  EXPECT_EQ(rest.back(), read_request(Psn(206), 2000));
}

TEST_F(RcLateAnswer, LeavesAFenceAsItWas) {
  connect();
  post({read_wr(1, 2000), send_wr(2, 0).fenced()});
  expire_without_sending();
  peer_sends(read_response_first(Psn(200), payload(1024)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 976, kShared + 1024)));
  peer_sends(read_response_only(Psn(201), payload(976)));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(202), {})));
}

}  // namespace
}  // namespace urnic::transport::test
