// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Room of a receive queue that comes back when the program polls, while the engine takes work requests.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "transport/receive_queue.h"

namespace urnic::transport::test {
namespace {

constexpr std::uint32_t kRoom = 8;

// A queue that counts a work request twice while it is taken fails within milliseconds.
TEST(ReceiveRoom, IsThereForWhatWasPolledWhileOthersAreTaken) {
  constexpr std::uint32_t kPosts = 400'000;
  ReceiveQueue queue({.work_requests = kRoom, .sges = 1, .is_exact = true});
  std::atomic<std::uint32_t> unpolled{0};
  queue.count_taken_in(unpolled);

  std::atomic<std::uint32_t> completed{0};
  std::atomic<bool> has_ended{false};
  std::thread engine([&] {
    ReceiveWqe taken;
    while (!has_ended.load()) {
      if (queue.take(taken)) completed.fetch_add(1);
    }
  });

  std::uint32_t refused = 0;
  for (std::uint32_t posted = 0, polled = 0; posted < kPosts;) {
    if (polled < completed.load()) {
      ++polled;
      unpolled.fetch_sub(1);
    }
    if (posted - polled == kRoom) continue;
    if (queue.is_full()) {
      ++refused;
      continue;
    }
    queue.prepare({.wr_id = posted}, {}, 0);
    queue.publish();
    ++posted;
  }
  has_ended.store(true);
  engine.join();
  EXPECT_EQ(refused, 0U);
}

TEST(ReceiveRoom, IsTakenByWhatWasNotPolled) {
  ReceiveQueue queue({.work_requests = kRoom, .sges = 1, .is_exact = true});
  std::atomic<std::uint32_t> unpolled{0};
  queue.count_taken_in(unpolled);
  for (std::uint32_t i = 0; i < kRoom; ++i) {
    ASSERT_FALSE(queue.is_full());
    queue.prepare({.wr_id = i}, {}, 0);
    queue.publish();
  }
  EXPECT_TRUE(queue.is_full());
  ReceiveWqe taken;
  ASSERT_TRUE(queue.take(taken));
  EXPECT_TRUE(queue.is_full());
  unpolled.fetch_sub(1);
  EXPECT_FALSE(queue.is_full());
}

}  // namespace
}  // namespace urnic::transport::test
