// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/timer_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>

namespace urnic::nic {
namespace {

using transport::kNever;
using transport::Time;

Time at(int microseconds) {
  return Time(std::chrono::microseconds(microseconds));
}

/// Timers know whose they are by address only.
Timer timer_of(std::uintptr_t owner) {
  constexpr std::uintptr_t kPage = 4096;
  return Timer(*reinterpret_cast<QueuePair*>(owner * kPage));
}

TEST(TimerQueue, HasNoDeadlineWhenItIsEmpty) {
  TimerQueue queue;
  EXPECT_EQ(queue.next(), kNever);
  EXPECT_EQ(queue.pop_expired(at(1000000)), nullptr);
}

TEST(TimerQueue, RunsOutInOrderOfDeadlineAndThenOfRegistration) {
  TimerQueue queue;
  Timer late = timer_of(1), first = timer_of(2), second = timer_of(3);
  queue.expect(late, at(9));
  queue.expect(first, at(5));
  queue.expect(second, at(5));
  EXPECT_EQ(queue.next(), at(5));
  EXPECT_EQ(queue.pop_expired(at(4)), nullptr);
  EXPECT_EQ(queue.pop_expired(at(5)), &first);
  EXPECT_EQ(queue.pop_expired(at(5)), &second);
  EXPECT_EQ(queue.pop_expired(at(5)), nullptr);
  EXPECT_EQ(queue.pop_expired(at(9)), &late);
}

TEST(TimerQueue, LeavesTheRegistrationWhenTheDeadlineMovesAway) {
  TimerQueue queue;
  Timer timer = timer_of(1);
  queue.expect(timer, at(5));
  queue.expect(timer, at(70));
  queue.expect(timer, kNever);
  EXPECT_EQ(queue.next(), at(5));
  EXPECT_EQ(queue.pop_expired(at(5)), &timer);
  EXPECT_EQ(queue.next(), kNever);
}

TEST(TimerQueue, RegistersAnewWhenTheDeadlineComesNearer) {
  TimerQueue queue;
  Timer timer = timer_of(1);
  queue.expect(timer, at(70));
  queue.expect(timer, at(5));
  EXPECT_EQ(queue.pop_expired(at(5)), &timer);
  EXPECT_EQ(queue.pop_expired(at(70)), nullptr);
}

TEST(TimerQueue, ForgetsACancelledTimer) {
  TimerQueue queue;
  Timer timer = timer_of(1);
  queue.expect(timer, at(5));
  queue.cancel(timer);
  queue.cancel(timer);
  EXPECT_EQ(queue.next(), kNever);
  queue.expect(timer, at(6));
  EXPECT_EQ(queue.next(), at(6));
  queue.cancel(timer);
}

}  // namespace
}  // namespace urnic::nic
