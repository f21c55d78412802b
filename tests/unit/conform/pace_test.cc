// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/pace.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/conformance/player/runner.h"
#include "tools/conformance/script/parser.h"

namespace urnic::conform {
namespace {

using namespace std::chrono_literals;

Result<Pace, scripts::Trouble> pace_of(const std::string& lines) {
  const auto script = scripts::parse_script("# Something -- fact 1\n" + lines);
  EXPECT_TRUE(script);
  return Pace::plan(script.value(), scripts::read_settings(script.value()).value());
}

TEST(Pace, LetsNoAckTimerExpireInAScriptThatWaitsForNone) {
  const auto pace = pace_of("post send id=1 length=1\n> SEND_ONLY\n+10us\nsilence");
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace.value().timeout_code(14), 19);
  EXPECT_EQ(pace.value().timeout_code(20), 20);
  EXPECT_EQ(pace.value().timeout_code(0), 0) << "0 never expires";
  EXPECT_EQ(pace.value().wait(10us), 10us);
  EXPECT_EQ(pace.value().rnr_code(1), 1);
}

TEST(Pace, SlowsAScriptDownThatWaitsForAnAckTimer) {
  const auto pace = pace_of("post send id=1 length=1\n> SEND_ONLY\n+67.108864ms\n> SEND_ONLY");
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace.value().shift(), 2u);
  EXPECT_EQ(pace.value().timeout_code(14), 16);
  EXPECT_EQ(pace.value().wait(67108864ns), 4 * 67108864ns);
}

// As fact 35 has them: code 1 is 0.01 ms, 14 is 1.28, 28 is 163.84.
TEST(Pace, SlowsRnrTimersDownAlike) {
  const auto pace = pace_of("< RNR_NAK psn=200 syn=0x2e\n+1ms\nsilence");
  ASSERT_TRUE(pace);
  ASSERT_EQ(pace.value().shift(), 7u);
  EXPECT_EQ(pace.value().rnr_code(14), 28);
  EXPECT_EQ(pace.value().rnr_code(1), 14);
  EXPECT_EQ(pace.value().rnr_code(18), 0) << "5.12 ms becomes 655.36 ms, which has the code 0";
  EXPECT_EQ(pace.value().wait(1ms), 128ms);
  EXPECT_EQ(pace.value().timeout_code(14), 19);
}

TEST(Pace, SlowsTheTimerOfThePeersRnrNaksDownToo) {
  const auto pace = pace_of("rnr-timer 12\n< SEND_ONLY psn=100\n> RNR_NAK\n+0.64ms\nsilence");
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace.value().rnr_code(12), 28);
}

TEST(Pace, DoesNotMakeAScriptMuchLongerForAnRnrTimer) {
  const auto pace = pace_of("< RNR_NAK psn=200 syn=0x21\n+10us\n> SEND_ONLY\n+67.108864ms\n> SEND_ONLY");
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace.value().shift(), 5u) << "2.1 seconds";
}

TEST(Pace, GoesByTheShortestAckTimerAndTheWholeTime) {
  const auto pace = pace_of("timeout 14\n+200us\nmodify SQD timeout=8\n+100us\nsilence");
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace.value().timeout_code(8), 16);
}

TEST(Pace, SlowsNoMoreDownThanRnrTimersAllow) {
  const auto pace = pace_of("timeout 8\n< RNR_NAK psn=200 syn=0x34\n+10.239999ms\nsilence");
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace.value().shift(), 6u) << "code 20 and twice that is 32, the longest timer";
}

TEST(Pace, RefusesScriptsThatTakeTooLong) {
  const auto pace = pace_of("timeout 0\n+3600s\nsilence");
  ASSERT_FALSE(pace);
  EXPECT_EQ(pace.error().kind, scripts::Trouble::Kind::kUnavailable);
}

TEST(Pace, ForgivesATenthAndFiveMilliseconds) {
  EXPECT_FALSE(is_too_early(100ms, 100ms));
  EXPECT_FALSE(is_too_early(86ms, 100ms));
  EXPECT_TRUE(is_too_early(84ms, 100ms));
  EXPECT_FALSE(is_too_early(0ms, 5ms));
  EXPECT_GE(patience_for(100ms), 2 * 100ms - 100ms) << "an answer may come as late again";
}

}  // namespace
}  // namespace urnic::conform
