// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/doorbell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Doorbells know whose they are by address only.
QueuePair& owner(std::uintptr_t number) {
  return *reinterpret_cast<QueuePair*>(number * 8);
}

std::vector<std::uintptr_t> take(DoorbellStack& stack) {
  std::vector<std::uintptr_t> taken;
  stack.take([&](QueuePair& qp) { taken.push_back(reinterpret_cast<std::uintptr_t>(&qp) / 8); });
  return taken;
}

TEST(DoorbellStack, GivesDoorbellsInTheOrderInWhichTheyRangEachOnce) {
  DoorbellStack stack;
  Doorbell one(owner(1)), two(owner(2)), three(owner(3));
  stack.ring(two);
  stack.ring(one);
  stack.ring(two);
  stack.ring(three);
  EXPECT_THAT(take(stack), ElementsAre(2, 1, 3));
  EXPECT_THAT(take(stack), IsEmpty());
}

TEST(DoorbellStack, RingsAgainAfterItWasTaken) {
  DoorbellStack stack;
  Doorbell one(owner(1));
  stack.ring(one);
  EXPECT_FALSE(stack.is_empty());
  EXPECT_THAT(take(stack), ElementsAre(1));
  EXPECT_TRUE(stack.is_empty());
  stack.ring(one);
  EXPECT_THAT(take(stack), ElementsAre(1));
}

TEST(DoorbellStack, LosesNoWorkThatWasPostedBeforeTheDoorbellRang) {
  constexpr int kThreads = 3;
  constexpr int kPosts = 20000;
  DoorbellStack stack;
  std::deque<Doorbell> bells;
  std::deque<std::atomic<int>> posted(kThreads);
  std::vector<int> seen(kThreads);
  for (std::uintptr_t i = 0; i < kThreads; ++i) bells.emplace_back(owner(i + 1));

  std::vector<std::thread> posters;
  for (int i = 0; i < kThreads; ++i) {
    posters.emplace_back([&, i] {
      for (int n = 1; n <= kPosts; ++n) {
        posted[i].store(n, std::memory_order_relaxed);
        stack.ring(bells[i]);
      }
    });
  }
  const auto collect = [&] {
    for (const std::uintptr_t number : take(stack)) {
      seen[number - 1] = posted[number - 1].load(std::memory_order_relaxed);
    }
  };
  for (int i = 0; i < 1000; ++i) collect();
  for (std::thread& poster : posters) poster.join();
  collect();
  EXPECT_THAT(seen, testing::Each(kPosts));
}

}  // namespace
}  // namespace urnic::nic
