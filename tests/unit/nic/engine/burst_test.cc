// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program posts in long runs, after which it polls at once, leaves in bursts; what others post leaves
// at once.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "tests/unit/nic/engine/progress_fixture.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;

/// Whether the NIC's thread watches just then, and leaves the engine to us, is chance: so for so long there
/// are further attempts.
constexpr auto kPatience = 10s;
/// It takes the NIC's thread that long to see that a program polls.
constexpr auto kLongEnough = 300us;
constexpr std::uint64_t kTarget = 512;

class BurstTest : public ProgressThreadTest {
 protected:
  BurstTest() { PostRun::of_this_thread().forget(); }

  void poll() {
    int receives = 0;
    take(ends_[0], receives, completed_);
  }
  /// Afterwards the thread only watches, if it relies on us at all.
  void poll_for_a_while() {
    const auto end = std::chrono::steady_clock::now() + kLongEnough;
    while (std::chrono::steady_clock::now() < end) poll();
  }
  /// After the thread has relied on us for 100 ms, it forgets that our polling once let frames wait.
  void poll_until_trusted() {
    const auto end = std::chrono::steady_clock::now() + 120ms;
    while (std::chrono::steady_clock::now() < end) poll();
  }
  /// Makes what was posted complete, and leaves the completions where they are.
  void let_others_poll() {
    std::thread other([this] {
      int receives = 0, sends = 0;
      for (int i = 0; i < 64; ++i) take(ends_[1], receives, sends);
    });
    other.join();
  }
  /// Whether one of many attempts is true.
  template <typename Attempt>
  bool succeeds(Attempt attempt) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      poll_for_a_while();
      post_in_long_runs();
      const bool has_succeeded = attempt();
      while (completed_ < posted_) poll();
      if (has_succeeded) return true;
    }
    return false;
  }

  /// As a program that goes on posting or polls at once.
  void post_in_long_runs() { post_in_runs_of(12); }
  void post_in_runs_of(int length) {
    for (std::uint32_t i = 0; i <= PostRun::kRunsThatCount; ++i) {
      post(length);
      do {
        poll();
      } while (completed_ < posted_);
    }
  }

  /// WRITEs of another number each.
  void post(int count) {
    for (int i = 0; i < count; ++i) {
      ++value_;
      std::memcpy(memory_.data(), &value_, sizeof value_);
      const std::array sges{sge(0)};
      ASSERT_EQ(QueuePair::SendBatch(*ends_[0].qp)
                    .post({.wr_id = 2,
                           .operation = transport::SendOperation::kWrite,
                           .signaled = true,
                           .remote_address = region_.address + kTarget,
                           .rkey = transport::Rkey{region_.key}},
                          sges),
                PostStatus::kPosted);
      ++posted_;
    }
  }
  /// How many frames have left when `count` requests were posted.
  int frames_of_posts(int count) {
    const int before = sends_;
    post(count);
    return sends_ - before;
  }
  bool is_written() {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_.data() + kTarget)).load() == value_;
  }
  /// Waits for that as a program does that calls no verb; whether only the NIC's thread brought it about.
  template <typename Condition>
  bool takes_long(Condition condition) {
    const auto begin = std::chrono::steady_clock::now();
    while (!condition()) {
      if (std::chrono::steady_clock::now() - begin > 5s) {
        ADD_FAILURE() << "no thread sent it";
        return true;
      }
    }
    return std::chrono::steady_clock::now() - begin > 800us;
  }
  /// Completions that were not polled are gone.
  void reconnect() {
    for (End& end : ends_) ASSERT_TRUE(end.qp->modify({.state = transport::QpState::kReset}));
    connect(*ends_[0].qp, *ends_[1].qp, *device_.gids().at(1));
    connect(*ends_[1].qp, *ends_[0].qp, *device_.gids().at(1));
    posted_ = completed_ = 0;
  }

  int posted_ = 0;
  int completed_ = 0;
  std::uint64_t value_ = 0;
};

TEST_P(BurstTest, LeavesPostsToTheNextPoll) {
  EXPECT_TRUE(succeeds([&] {
    if (frames_of_posts(4) != 1) return false;
    const int before = sends_;
    poll();
    return sends_ - before >= 3;
  }));
}

TEST_P(BurstTest, LeavesNoMoreThanAFewPosts) {
  EXPECT_TRUE(succeeds([&] { return frames_of_posts(8) == 1 && frames_of_posts(1) >= 8; }));
}

// A program that finds completions has polled as well as one that finds none. Now and then the NIC's thread
// sends them first, or prevents the poll from it.
TEST_P(BurstTest, SendsThemWithAPollThatFindsSomething) {
  constexpr int kEnough = 20;
  int left = 0;
  int sent = 0;
  succeeds([&] {
    post(1);
    let_others_poll();
    post(1);  // before it, nothing is outstanding
    if (frames_of_posts(2) != 0) return false;
    const int frames_before = sends_;
    const int completed_before = completed_;
    poll();
    if (completed_ == completed_before) return false;
    sent += sends_ - frames_before >= 2 ? 1 : 0;
    return ++left == kEnough;
  });
  EXPECT_GT(left, 0);
  EXPECT_GT(2 * sent, left);
}

TEST_P(BurstTest, SendsThemWhenANotificationIsAskedFor) {
  EXPECT_TRUE(succeeds([&] {
    const int sent_at_once = frames_of_posts(4);
    const int before = sends_;
    ends_[0].queue->request_notification(false);
    const int sent_when_asked = sends_ - before;
    EXPECT_TRUE(ends_[0].channel.wait());
    return sent_at_once == 1 && sent_when_asked >= 3;
  }));
}

// Hardware would have sent them by then.
TEST_P(BurstTest, SendsThemBeforeTheQueuePairIsInError) {
  EXPECT_TRUE(succeeds([&] {
    const int sent_at_once = frames_of_posts(4);
    const int before = sends_;
    EXPECT_TRUE(ends_[0].qp->modify({.state = transport::QpState::kError}));
    const int sent_by_modify = sends_ - before;
    reconnect();
    return sent_at_once == 1 && sent_by_modify >= 3;
  }));
}

// It waits for the NIC's thread once, and is not relied on then.
TEST_P(BurstTest, DoesNotKeepAProgramWaitingThatLooksAtItsMemory) {
  constexpr int kRounds = 20;
  EXPECT_TRUE(succeeds([&] {
    int late = 0;
    for (int i = 0; i < kRounds; ++i) {
      poll_for_a_while();
      post_in_long_runs();
      post(4);
      late += takes_long([&] { return is_written(); });
    }
    return late > 0 && late <= kRounds / 2;
  }));
}

// A WRITE of data and one of a flag; then the program computes, or waits for what the peer writes. It polls
// at its next turn only.
TEST_P(BurstTest, LeavesNothingBehindOfAProgramThatDoesNotPollAtOnce) {
  constexpr int kRounds = 5;
  EXPECT_TRUE(succeeds([&] {
    if (frames_of_posts(4) != 1) return false;  // the NIC's thread relies on us
    int left_at_once = 0;
    for (int i = 0; i < kRounds; ++i) {
      clock_.pause();
      poll_for_a_while();
      left_at_once += frames_of_posts(2) == 2;
    }
    post_in_long_runs();
    return left_at_once == kRounds && frames_of_posts(4) == 1;
  }));
}

TEST_P(BurstTest, LeavesNothingBehindOfARunThatEndsAsTheLastOnesDid) {
  EXPECT_TRUE(succeeds([&] {
    post_in_runs_of(4);
    return frames_of_posts(4) == 4;
  }));
}

// No acknowledgement comes that would say that it should have polled. One attempt proves little where others
// want the processor.
TEST_P(BurstTest, DoesNotKeepItWaitingAgainWhereThePeerIsFar) {
  int once = 0;   // of attempts in which it waited, those in which it waited no second time
  int again = 0;  // and the others
  EXPECT_TRUE(succeeds([&] {
    poll_until_trusted();
    is_deaf_ = true;
    int late = 0;
    for (const int count : {5, 4, 3, 2}) {
      poll_for_a_while();
      const int before = sends_;
      post(count);
      late += takes_long([&] { return sends_ >= before + count; });
    }
    is_deaf_ = false;
    once += late == 1;
    again += late > 1;
    return once >= 5 && once > 2 * again;
  }));
}

INSTANTIATE_TEST_SUITE_P(, BurstTest,
                         testing::Values(Mode{ProgressMode::kHybrid, true},
                                         Mode{ProgressMode::kHybrid, false}),
                         name_of_mode);

}  // namespace
}  // namespace urnic::nic
