#include "nic/engine/poll_spell.h"

#include <gtest/gtest.h>

#include <chrono>

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::Duration;

class PollSpellTest : public testing::Test {
 protected:
  /// Polls in vain each `pause`, and returns how many spells ended.
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

}  // namespace
}  // namespace urnic::nic
