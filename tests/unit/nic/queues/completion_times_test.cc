// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// When completions were made, as a completion queue notes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "tests/unit/nic/queues/completion_queue_fixture.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using transport::Completion;
using transport::Time;

class CompletionTimesTest : public CompletionQueueTest {
 protected:
  CompletionTimesTest() {
    EXPECT_TRUE(pair.a().device().destroy_cq(queue));
    queue = std::move(pair.a().device().create_cq(4, &channel, this, {.has_times = true}).value());
  }
  std::vector<Time> poll_times() {
    std::array<Completion, 8> completions;
    std::array<CompletionTimes, 8> times;
    const std::size_t count = queue->poll(completions, times);
    std::vector<Time> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(times[i].device);
    return result;
  }

  const Time start = pair.clock.now();
};

TEST_F(CompletionTimesTest, AreThoseOfTheirRounds) {
  complete(1);
  complete(2);
  publish();
  pair.clock.advance(3us);
  complete(3);
  publish();
  pair.clock.advance(1s);
  EXPECT_THAT(poll_times(), ElementsAre(start, start, start + 3us));
}

TEST_F(CompletionTimesTest, GoAroundWithTheRing) {
  for (int i = 0; i < 11; ++i) {
    complete(1);
    publish();
    EXPECT_THAT(poll_times(), ElementsAre(start + i * 1us));
    pair.clock.advance(1us);
  }
}

TEST_F(CompletionTimesTest, StayWithTheirCompletionsWhenTheQueueIsResized) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    complete(i);
    publish();
    pair.clock.advance(1us);
  }
  std::array<Completion, 1> one;
  ASSERT_EQ(queue->poll(one), 1u);
  ASSERT_TRUE(queue->resize(64));
  ASSERT_TRUE(queue->resize(3));
  complete(3);
  publish();
  EXPECT_THAT(poll_times(), ElementsAre(start + 1us, start + 2us, start + 3us));
}

TEST_F(CompletionTimesTest, AreNotKeptUnlessAskedFor) {
  EXPECT_TRUE(pair.a().device().destroy_cq(queue));
  queue = std::move(pair.a().device().create_cq(4, &channel, this).value());
  complete(1);
  publish();
  EXPECT_THAT(poll_times(), ElementsAre(Time{}));
}

TEST_F(CompletionTimesTest, AreOnTwoClocks) {
  complete(1);
  publish();
  std::array<Completion, 1> completion;
  std::array<CompletionTimes, 1> times;
  ASSERT_EQ(queue->poll(completion, times), 1u);
  EXPECT_EQ(times[0].device, pair.clock.now());
  EXPECT_EQ(times[0].wall_time, pair.clock.wall_time());
}

}  // namespace
}  // namespace urnic::nic
