// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Notifications that wait for more completions, and how long they wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "tests/unit/nic/queues/completion_queue_fixture.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class CompletionQueueModerationTest : public CompletionQueueTest {
 protected:
  static constexpr transport::Duration kLong = 60ms;

  // Neighbor discovery has deadlines of its own.
  CompletionQueueModerationTest() { pair.settle(); }
  transport::Time next_timeout() { return pair.a().device().next_timeout(); }

  void complete_one() {
    complete(1);
    publish();
    ASSERT_THAT(poll(), ElementsAre(1));
  }
};

TEST_F(CompletionQueueModerationTest, NotifiesAtOnceWhenItIsOff) {
  queue->moderate({.count = 8, .period = kLong});
  queue->moderate({});
  queue->request_notification(false);
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, NotifiesWhenThereAreEnough) {
  queue->moderate({.count = 3, .period = kLong});
  queue->request_notification(false);
  complete_one();
  complete_one();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(has_event());
}

TEST_F(CompletionQueueModerationTest, DoesNotCountWhatTheQueueForgot) {
  queue->moderate({.count = 3, .period = kLong});
  queue->request_notification(false);
  complete_of(kDestroyed, 1);
  complete_of(kDestroyed, 2);
  publish();
  queue->discard(kDestroyed);
  EXPECT_GT(next_timeout(), pair.clock.now() + kLong);
  for (std::uint64_t i = 3; i < 5; ++i) complete_of(kOther, i);
  publish();
  EXPECT_FALSE(has_event());
  complete_of(kOther, 5);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_THAT(poll(), ElementsAre(3, 4, 5));
}

TEST_F(CompletionQueueModerationTest, CountsWhatIsPublishedTogether) {
  queue->moderate({.count = 3, .period = kLong});
  queue->request_notification(false);
  for (std::uint64_t i = 0; i < 4; ++i) complete(i);
  publish();
  EXPECT_TRUE(has_event());
  // The fourth belongs to the first notification.
  ASSERT_EQ(poll().size(), 4u);
  queue->request_notification(false);
  publish();
  complete_one();
  complete_one();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, NotifiesWhenTheFirstHasWaitedForThePeriod) {
  queue->moderate({.count = 3, .period = 50us});
  queue->request_notification(false);
  complete_one();
  pair.clock.advance(30us);
  complete_one();
  pair.clock.advance(19999ns);
  publish();
  EXPECT_FALSE(has_event());
  pair.clock.advance(1ns);
  publish();
  EXPECT_TRUE(has_event());
  EXPECT_FALSE(has_event());
}

TEST_F(CompletionQueueModerationTest, CountsForWhoAsksAgainFromTheBeginning) {
  queue->moderate({.count = 3, .period = 50us});
  queue->request_notification(false);
  complete_one();
  pair.clock.advance(50us);
  publish();
  EXPECT_TRUE(has_event());
  queue->request_notification(false);
  complete_one();
  complete_one();
  EXPECT_FALSE(has_event());
  pair.clock.advance(49us);
  publish();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, DoesNotCountWhatWasPolledBeforeItWasAsked) {
  queue->moderate({.count = 2, .period = 50us});
  complete_one();
  complete_one();
  queue->request_notification(false);
  pair.clock.advance(1s);
  publish();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, CountsWhatWaitsWhenItIsAsked) {
  queue->moderate({.count = 3, .period = 50us});
  complete(1);
  complete(2);
  publish();
  queue->request_notification(false);
  EXPECT_FALSE(has_event());
  complete(3);
  publish();
  EXPECT_TRUE(has_event());
  queue->request_notification(false);
  EXPECT_FALSE(has_event()) << "it was told of all three";
}

TEST_F(CompletionQueueModerationTest, NotifiesOfWhatWaitsAfterThePeriodSinceItWasAsked) {
  queue->moderate({.count = 3, .period = 50us});
  complete(1);
  publish();
  pair.clock.advance(70us);
  queue->request_notification(false);
  EXPECT_FALSE(has_event());
  EXPECT_EQ(next_timeout(), pair.clock.now() + 50us);
  pair.clock.advance(50us);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, WithoutACountWaitsForThePeriodHoweverManyThereAre) {
  queue->moderate({.count = 0, .period = 50us});
  queue->request_notification(false);
  for (std::uint64_t i = 0; i < 100; ++i) complete_one();
  EXPECT_FALSE(has_event());
  pair.clock.advance(50us);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, WithoutAPeriodWaitsForNothing) {
  queue->moderate({.count = 8, .period = {}});
  queue->request_notification(false);
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, NeverPutsOffASolicitedCompletionThatWasAskedFor) {
  queue->moderate({.count = 8, .period = kLong});
  queue->request_notification(true);
  complete_one();
  EXPECT_FALSE(has_event());
  complete(2, true);
  publish();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, PutsOffASolicitedCompletionOfWhoAskedForAny) {
  queue->moderate({.count = 8, .period = 50us});
  queue->request_notification(false);
  complete(2, true);
  publish();
  EXPECT_FALSE(has_event());
  pair.clock.advance(50us);
  publish();
  EXPECT_TRUE(has_event());
}

// What it said of solicited completions holds for the one that makes it ask for more.
TEST_F(CompletionQueueModerationTest, CountsFromWhenMoreIsAskedFor) {
  queue->moderate({.count = 2, .period = 50us});
  queue->request_notification(true);
  complete_one();
  queue->request_notification(false);
  complete_one();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, IsADeadlineOfTheEngine) {
  queue->moderate({.count = 8, .period = 50us});
  const transport::Time idle = next_timeout();
  ASSERT_GT(idle, pair.clock.now() + 50us);
  queue->request_notification(false);
  complete_one();
  EXPECT_EQ(next_timeout(), pair.clock.now() + 50us);
  pair.clock.advance(50us);
  publish();
  EXPECT_EQ(next_timeout(), idle);
}

TEST_F(CompletionQueueModerationTest, WaitsForTheEarliestOfSeveralQueues) {
  auto other = std::move(pair.a().device().create_cq(4, &channel, this).value());
  for (CompletionQueue* const armed : {queue.get(), other.get()}) {
    armed->moderate({.count = 8, .period = armed == queue.get() ? 90us : 50us});
    armed->request_notification(false);
    armed->complete({.wr_id = 1});
  }
  publish();
  EXPECT_EQ(next_timeout(), pair.clock.now() + 50us);
  pair.clock.advance(50us);
  publish();
  EXPECT_EQ(channel.wait().value(), other.get());
  EXPECT_FALSE(has_event());
  EXPECT_EQ(next_timeout(), pair.clock.now() + 40us);
  pair.clock.advance(40us);
  publish();
  EXPECT_EQ(channel.wait().value(), queue.get());
  EXPECT_TRUE(pair.a().device().destroy_cq(other));
}

TEST_F(CompletionQueueModerationTest, WhatWaitsFollowsANewRule) {
  queue->moderate({.count = 8, .period = kLong});
  queue->request_notification(false);
  complete_one();
  complete_one();
  queue->moderate({.count = 8, .period = 50us});
  EXPECT_EQ(next_timeout(), pair.clock.now() + 50us);
  EXPECT_FALSE(has_event());
  queue->moderate({.count = 2, .period = 50us});
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, LetsGoOfWhatWaitsWhenItIsTurnedOff) {
  queue->moderate({.count = 8, .period = kLong});
  queue->request_notification(false);
  complete_one();
  queue->moderate({});
  EXPECT_TRUE(has_event());
  // And counts nothing twice when it is turned on again.
  queue->moderate({.count = 2, .period = kLong});
  queue->request_notification(false);
  complete_one();
  EXPECT_FALSE(has_event());
  complete_one();
  EXPECT_TRUE(has_event());
}

TEST_F(CompletionQueueModerationTest, EndsWithTheQueue) {
  const transport::Time idle = next_timeout();
  queue->moderate({.count = 8, .period = 50us});
  queue->request_notification(false);
  complete_one();
  ASSERT_TRUE(pair.a().device().destroy_cq(queue));
  EXPECT_EQ(next_timeout(), idle);
  pair.clock.advance(50us);
  publish();
  EXPECT_FALSE(has_event());
  queue = std::move(pair.a().device().create_cq(4, &channel, this).value());
}

}  // namespace
}  // namespace urnic::nic
