// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/engine/poll_spell.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::Duration;

class PollSpellTest : public testing::Test {
 protected:
  /// Polls each `pause` and finds nothing; returns how many spells ended.
  int poll_for(Duration time, Duration pause) {
    int ended = 0;
    for (const transport::Time end = now_ + time; now_ < end; now_ += pause) {
      if (spell_.on_empty_poll(now_)) ++ended;
    }
    return ended;
  }

  PollSpell spell_;
  transport::Time now_{1s};
};

TEST_F(PollSpellTest, EndsAfterSomeTimeAndBeginsAgain) {
  EXPECT_EQ(poll_for(2900ns, 100ns), 0);
  EXPECT_EQ(poll_for(200ns, 100ns), 1);
  EXPECT_EQ(poll_for(2900ns, 100ns), 0);
  EXPECT_EQ(poll_for(30us, 100ns), 10);
}

TEST_F(PollSpellTest, AThreadThatDoesOtherThingsInBetweenPollsInNoSpell) {
  EXPECT_EQ(poll_for(100us, 2us), 0);
}

TEST_F(PollSpellTest, BeginsAfterAPause) {
  EXPECT_EQ(poll_for(2900ns, 100ns), 0);
  now_ += 10us;
  EXPECT_EQ(poll_for(3000ns, 100ns), 0);
  EXPECT_EQ(poll_for(100ns, 100ns), 1);
}

TEST_F(PollSpellTest, SleepsMoreAndMoreRarelyWhileItYields) {
  std::vector<Duration> pauses;
  for (transport::Time before = now_; pauses.size() < 11; now_ += 5us) {
    if (spell_.should_sleep(now_)) pauses.push_back(now_ - std::exchange(before, now_));
  }
  EXPECT_EQ(pauses[0], 1ms);
  for (std::size_t i = 1; i < 9; ++i) {
    EXPECT_GE(pauses[i], 1ms * (1 << i)) << i;
    EXPECT_LE(pauses[i], 1ms * (1 << i) + 5us) << i << ": a yield later at most";
  }
  EXPECT_EQ(pauses[9], 256ms);
  EXPECT_EQ(pauses[10], 256ms);
}

TEST_F(PollSpellTest, SleepsSoonAgainAfterItWasAlone) {
  for (int i = 0; i < 1000; ++i, now_ += 5us) spell_.should_sleep(now_);
  now_ += 1ms;
  for (int i = 0; i < 200; ++i, now_ += 5us) EXPECT_FALSE(spell_.should_sleep(now_));
  EXPECT_TRUE(spell_.should_sleep(now_));
}

}  // namespace
}  // namespace urnic::nic
