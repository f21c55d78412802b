// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A receive and its acknowledgement, which may have to wait: what the program sees, and when.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using transport::SendOperation;

class ReceiveAcknowledgement : public testing::Test {
 protected:
  transport::SendRequest long_read(std::uint64_t wr_id) {
    return {.wr_id = wr_id,
            .operation = SendOperation::kRead,
            .signaled = true,
            .remote_address = pair.b().region().address,
            .rkey = transport::Rkey{pair.b().region().key}};
  }

  DevicePair pair;
};

TEST_F(ReceiveAcknowledgement, HandsTheAcknowledgementToTheMediumBeforeTheCompletionIsVisible) {
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.a().post_send(2, 0, 10);
  pair.a().device().progress();
  bool visible_at_flush = false;
  pair.wire.on_flush = [&](std::size_t end) {
    if (end == 1) visible_at_flush = !pair.b().poll().empty();
  };
  pair.b().device().progress();
  pair.wire.on_flush = [](std::size_t) {};
  EXPECT_FALSE(visible_at_flush);
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(ReceiveAcknowledgement, ShowsAReceiveAlthoughALaterReadIsBeingAnswered) {
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10);
  pair.a().post_send(2, 0, 10);
  pair.a().post(long_read(3), 0, 500 * 1024);
  pair.a().device().progress();
  pair.b().device().progress();
  ASSERT_TRUE(pair.b().qp().endpoint().has_pending_response());
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(ReceiveAcknowledgement, ShowsAReceiveOfAnotherConnectionMeanwhile) {
  pair.connect();
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 10, 0);
  pair.b().post_receive(2, 0, 10, 1);
  pair.a().post_send(3, 0, 10, 0);
  pair.a().post(long_read(4), 0, 500 * 1024, 0);
  pair.a().post_send(5, 0, 10, 1);
  pair.a().device().progress();
  pair.b().device().progress();
  ASSERT_TRUE(pair.b().qp(0).endpoint().has_pending_response());
  EXPECT_EQ(pair.b().poll_text(), "1 ok, 2 ok");
}

/// B's acknowledgement of a SEND cannot leave now: it would pass the responses of a READ before it, or the
/// port is full.
class AcknowledgementThatWaits : public testing::TestWithParam<bool> {
 protected:
  AcknowledgementThatWaits() {
    pair.connect();
    pair.connect();
    pair.settle();
    pair.b().post_receive(1, 0, 10, 0);
    pair.b().post_receive(2, 0, 10, 1);
    const bool is_full = GetParam();
    if (is_full) pair.wire.room[1] = 0;
    const std::uint32_t read_bytes = is_full ? 0 : 100 * 1024;
    pair.a().post({.wr_id = 3,
                   .operation = SendOperation::kRead,
                   .signaled = true,
                   .remote_address = pair.b().region().address,
                   .rkey = transport::Rkey{pair.b().region().key}},
                  0, read_bytes, 0);
    pair.a().post_send(4, 0, 10, 0);
    pair.a().post_send(5, 0, 10, 1);
    pair.a().device().progress();
    pair.b().device().progress();
    EXPECT_TRUE(pair.b().qp().endpoint().has_pending_response());
  }

  DevicePair pair;
};

INSTANTIATE_TEST_SUITE_P(ForAPort, AcknowledgementThatWaits, testing::Bool());

TEST_P(AcknowledgementThatWaits, HidesNoReceive) {
  EXPECT_EQ(pair.b().poll_text(), "1 ok, 2 ok");
}

TEST_P(AcknowledgementThatWaits, LeavesBeforeTheProgramEnds) {
  pair.wire.room[1] = ~std::size_t{0};
  pair.b().device().linger();
  pair.settle();
  const std::vector<transport::Completion> completions = pair.a().poll();
  EXPECT_EQ(completions.size(), 3u);
  for (const transport::Completion& completion : completions) {
    EXPECT_EQ(completion.status, transport::CompletionStatus::kSuccess);
  }
}

}  // namespace
}  // namespace urnic::nic
