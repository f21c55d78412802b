// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "tests/support/value_of.h"
#include "tests/unit/nic/adversary/adversary_fixture.h"

namespace urnic::nic {
namespace {

TEST_F(AdversaryTest, GivesExactlyTheRoomThatWasRequested) {
  behave({Behavior::kExactRoom});
  QpCreateAttributes attributes = pair.a().default_attributes();
  attributes.capabilities.max_send_wr = 5;
  attributes.capabilities.max_receive_wr = 3;
  QueuePair& qp = pair.a().add_queue_pair(attributes);
  EXPECT_EQ(qp.attributes().capabilities.max_send_wr, 5u);
  ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
  const std::array elements{pair.a().sge(0, 64)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(QueuePair::ReceiveBatch(qp).post({.wr_id = 1}, elements), PostStatus::kPosted);
  }
  EXPECT_EQ(QueuePair::ReceiveBatch(qp).post({.wr_id = 1}, elements), PostStatus::kQueueFull);
  auto queue = test::value_of(pair.a().device().create_cq(5, nullptr, nullptr));
  EXPECT_EQ(queue->capacity(), 5u);
  for (std::uint64_t i = 1; i <= 5; ++i) queue->complete({.wr_id = i});
  EXPECT_FALSE(queue->has_overrun());
  pair.a().device().progress();
  std::vector<transport::Completion> seen(10);
  EXPECT_EQ(queue->poll(seen), 5u);
  ASSERT_TRUE(pair.a().device().resize_cq(*queue, 9));
  EXPECT_EQ(queue->capacity(), 9u);
  EXPECT_TRUE(pair.a().device().destroy_cq(queue));
}

TEST_F(AdversaryTest, GivesOtherKeysToPeersThanToTheProgram) {
  behave({Behavior::kDifferentKeys});
  connect();
  Host& b = pair.b();
  const auto region = test::value_of(b.device().register_memory(
      b.pd(), b.memory().data(), 4096, 0, transport::Access::kLocalWrite | transport::Access::kRemoteWrite));
  const std::uint32_t rkey = b.device().rkey_of(region.key);
  EXPECT_NE(rkey, region.key);
  transport::SendRequest write = write_to_b(1, 0);
  write.remote_address = 0;
  write.rkey = transport::Rkey{rkey};
  fill(0, 0, 64, 5);
  pair.a().post(write, 0, 64);
  pair.settle();
  EXPECT_EQ(poll(0).front().status, transport::CompletionStatus::kSuccess);
  EXPECT_TRUE(is_filled(1, 0, 64, 5));
  write.rkey = transport::Rkey{region.key};
  pair.a().post(write, 0, 64);
  pair.pass(std::chrono::milliseconds(1));
  const std::vector<transport::Completion> refused = poll(0);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused.front().status, transport::CompletionStatus::kRemoteAccessError);
  EXPECT_TRUE(b.device().deregister_memory(b.pd(), region.key));
}

}  // namespace
}  // namespace urnic::nic
