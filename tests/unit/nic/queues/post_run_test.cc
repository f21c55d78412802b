// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/post_run.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace urnic::nic {
namespace {

class PostRunTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kSoon = PostRun::kDirectly;
  static constexpr std::uint64_t kLate = PostRun::kDirectly + 1;

  /// `count` posts, each directly after the other; what on_post() says of the last.
  bool post(std::uint32_t count) {
    bool is_followed = false;
    for (std::uint32_t i = 0; i < count; ++i) is_followed = run_.on_post(now_ += kSoon);
    return is_followed;
  }
  void poll_after(std::uint64_t ticks) { run_.on_poll(now_ += ticks); }
  void have_habit(std::uint32_t length = 10) {
    for (std::uint32_t i = 0; i < PostRun::kRunsThatCount; ++i) {
      post(length);
      poll_after(kSoon);
    }
  }

  PostRun run_;
  std::uint64_t now_ = 1'000'000;
};

TEST_F(PostRunTest, ExpectsNothingOfAThreadThatItDoesNotKnow) {
  for (std::uint32_t i = 0; i < PostRun::kRunsThatCount; ++i) {
    EXPECT_FALSE(post(5));
    poll_after(kSoon);
  }
}

TEST_F(PostRunTest, ExpectsAThreadToGoOnThatDid) {
  have_habit();
  EXPECT_TRUE(post(2));
  EXPECT_TRUE(post(7));
}

// Data and a flag: the program computes next.
TEST_F(PostRunTest, ExpectsNothingAfterTheLastPostOfARunAsLongAsTheOneBefore) {
  have_habit(2);
  EXPECT_FALSE(post(2));
  poll_after(kSoon);
  have_habit(10);
  EXPECT_FALSE(post(10));
  EXPECT_FALSE(post(1));
}

TEST_F(PostRunTest, ExpectsNothingAfterTheFirstPost) {
  have_habit();
  EXPECT_FALSE(post(1));
}

TEST_F(PostRunTest, ExpectsNothingOfAThreadThatPolledLate) {
  have_habit();
  post(10);
  poll_after(kLate);
  EXPECT_FALSE(post(2));
  have_habit();
  EXPECT_TRUE(post(2)) << "it is forgiven";
}

TEST_F(PostRunTest, ExpectsNothingOfAThreadThatPausedBetweenPosts) {
  have_habit();
  EXPECT_TRUE(post(3));
  now_ += kLate;
  EXPECT_FALSE(post(2));
}

TEST_F(PostRunTest, DoesNotTakeTheEnginesTimeForThePrograms) {
  have_habit();
  post(1);
  now_ += 10 * kLate;
  run_.on_posted(now_);
  EXPECT_TRUE(post(1));
}

// The thread has moved to another processor, which counts from elsewhere.
TEST_F(PostRunTest, ExpectsNothingWhenTheTicksGoBack) {
  have_habit();
  now_ -= 500'000;
  EXPECT_FALSE(post(1));
  now_ -= 2 * kSoon;
  EXPECT_FALSE(post(1));
}

TEST_F(PostRunTest, IsOpenFromAPostToAPoll) {
  EXPECT_FALSE(run_.is_open());
  post(1);
  EXPECT_TRUE(run_.is_open());
  poll_after(kLate);
  EXPECT_FALSE(run_.is_open());
}

}  // namespace
}  // namespace urnic::nic
