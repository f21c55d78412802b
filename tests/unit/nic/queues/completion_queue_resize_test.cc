// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Changing how many completions a queue holds, while it is in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "nic/config.h"
#include "tests/unit/nic/queues/completion_queue_fixture.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CompletionQueueResizeTest : public CompletionQueueTest {
 protected:
  /// 0 or an errno value.
  int resize(std::uint32_t capacity) {
    const auto resized = pair.a().device().resize_cq(*queue, capacity);
    return resized ? 0 : resized.error().code;
  }
  /// Moves the ring's first place on, so that what comes next goes around its end.
  void turn(std::uint64_t places) {
    for (std::uint64_t i = 0; i < places; ++i) {
      complete(i);
      publish();
      ASSERT_THAT(poll(), ElementsAre(i));
    }
  }
};

TEST_F(CompletionQueueResizeTest, HoldsAsManyAsWereAskedForAndOverrunsWithOneMore) {
  ASSERT_EQ(resize(16), 0);
  ASSERT_EQ(queue->capacity(), 16u);
  for (std::uint64_t i = 0; i < 16; ++i) complete(i);
  EXPECT_FALSE(queue->has_overrun());
  complete(16);
  EXPECT_TRUE(queue->has_overrun());
  publish();
  EXPECT_EQ(poll().size(), 16u);
}

TEST_F(CompletionQueueResizeTest, OverrunsSoonerWhenItHasBecomeSmaller) {
  ASSERT_EQ(resize(1), 0);
  ASSERT_EQ(queue->capacity(), 1u);
  complete(1);
  EXPECT_FALSE(queue->has_overrun());
  complete(2);
  EXPECT_TRUE(queue->has_overrun());
}

TEST_F(CompletionQueueResizeTest, KeepsWhatWaitsInItsOrderWhereverTheRingBegan) {
  for (std::uint64_t begin = 0; begin < 4; ++begin) {
    turn(1);
    for (std::uint64_t i = 1; i <= 4; ++i) complete(i);
    publish();
    ASSERT_EQ(resize(32), 0);
    complete(5);
    publish();
    EXPECT_THAT(poll(2), ElementsAre(1, 2));
    ASSERT_EQ(resize(4), 0);
    complete(6);
    publish();
    EXPECT_THAT(poll(), ElementsAre(3, 4, 5, 6));
  }
  EXPECT_FALSE(queue->has_overrun());
}

TEST_F(CompletionQueueResizeTest, KeepsWhatWasNotPublishedYet) {
  complete(1);
  publish();
  complete(2);
  ASSERT_EQ(resize(2), 0);
  EXPECT_THAT(poll(), ElementsAre(1));
  publish();
  EXPECT_THAT(poll(), ElementsAre(2));
}

TEST_F(CompletionQueueResizeTest, IsRefusedBelowTheNumberOfCompletionsThatWait) {
  for (std::uint64_t i = 1; i <= 3; ++i) complete(i);
  publish();
  EXPECT_EQ(resize(2), EINVAL);
  EXPECT_EQ(queue->capacity(), 4u);
  EXPECT_EQ(resize(3), 0);
  EXPECT_THAT(poll(1), ElementsAre(1));
  EXPECT_EQ(resize(2), 0);
  EXPECT_EQ(queue->capacity(), 2u);
  EXPECT_THAT(poll(), ElementsAre(2, 3));
}

// They wait, too, although the program cannot take them yet.
TEST_F(CompletionQueueResizeTest, CountsWhatWasNotPublished) {
  complete(1);
  complete(2);
  EXPECT_EQ(resize(1), EINVAL);
  publish();
  EXPECT_THAT(poll(), ElementsAre(1, 2));
}

TEST_F(CompletionQueueResizeTest, IsRefusedOutsideTheDevicesLimits) {
  EXPECT_EQ(resize(0), EINVAL);
  EXPECT_EQ(resize(DeviceLimits::kMaxCompletions + 1), EINVAL);
  EXPECT_EQ(queue->capacity(), 4u);
}

TEST_F(CompletionQueueResizeTest, KeepsARequestForNotification) {
  queue->request_notification(false);
  ASSERT_EQ(resize(8), 0);
  EXPECT_FALSE(has_event());
  complete(1);
  ASSERT_EQ(resize(2), 0);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueResizeTest, KeepsARequestForASolicitedCompletionThatIsNotPublished) {
  queue->request_notification(true);
  complete(1);
  complete(2, true);
  ASSERT_EQ(resize(8), 0);
  EXPECT_FALSE(has_event());
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueResizeTest, KeepsAnEventThatNobodyHasFetched) {
  queue->request_notification(false);
  complete(1);
  publish();
  ASSERT_EQ(resize(8), 0);
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(has_event());
}

}  // namespace
}  // namespace urnic::nic
