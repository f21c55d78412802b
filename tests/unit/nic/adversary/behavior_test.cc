// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/behavior.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "nic/adversary/adversary.h"

namespace urnic::nic {
namespace {

TEST(Behavior, HasANameOfItsOwnByWhichItIsFound) {
  std::set<std::string_view> names;
  for (const BehaviorRow& row : all_behaviors()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(behavior_named(row.name), row.behavior);
    EXPECT_TRUE(row.what.ends_with('.') && row.rule.ends_with('.') && row.exposes.ends_with('.')) << row.name;
  }
  EXPECT_EQ(names.size(), kBehaviorCount);
  EXPECT_FALSE(behavior_named("late"));
}

TEST(Behavior, IsDrawnForASeedInAboutHalfOfThem) {
  std::array<int, kBehaviorCount> seeds{};
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    for (std::size_t i = 0; i < kBehaviorCount; ++i) seeds[i] += behaviors_of(seed).test(i) ? 1 : 0;
  }
  for (const BehaviorRow& row : all_behaviors()) {
    const int count = seeds[static_cast<std::size_t>(row.behavior)];
    if (row.is_usual) {
      EXPECT_GT(count, 400) << row.name;
      EXPECT_LT(count, 600) << row.name;
    } else {
      EXPECT_EQ(count, 0) << row.name;
    }
  }
}

TEST(Draw, DependsOnEachOfItsArguments) {
  const std::uint64_t number = draw(1, Behavior::kLatePayload, 1, 1);
  EXPECT_EQ(number, draw(1, Behavior::kLatePayload, 1, 1));
  EXPECT_NE(number, draw(2, Behavior::kLatePayload, 1, 1));
  EXPECT_NE(number, draw(1, Behavior::kSlowRead, 1, 1));
  EXPECT_NE(number, draw(1, Behavior::kLatePayload, 2, 1));
  EXPECT_NE(number, draw(1, Behavior::kLatePayload, 1, 2));
}

TEST(Adversary, PausesWithinItsScale) {
  using namespace std::chrono_literals;
  ActLog log;
  const Adversary usual({.seed = 3}, log);
  const Adversary slow({.seed = 3, .scale = 10}, log);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto pause = usual.pause(Behavior::kLatePayload, 1, i, 1ms);
    EXPECT_LE(pause, 1ms);
    EXPECT_NEAR(static_cast<double>(slow.pause(Behavior::kLatePayload, 1, i, 1ms).count()),
                static_cast<double>(pause.count()) * 10, 10);
  }
}

}  // namespace
}  // namespace urnic::nic
