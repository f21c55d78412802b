// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/path_probe.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace urnic::tools {
namespace {

TEST(LargestThat, FindsTheLastSizeThatGetsThrough) {
  for (std::size_t limit = 336; limit <= 9600; limit += 7) {
    int asked = 0;
    const std::size_t found = largest_that(kLeastPacketBytes, kMostPacketBytes, [&](std::size_t bytes) {
      ++asked;
      return bytes <= limit;
    });
    EXPECT_EQ(found, limit);
    EXPECT_LE(asked, 16);
  }
}

TEST(LargestThat, AsksOnceWhereAllGetThroughAndTwiceWhereNoneDoes) {
  int asked = 0;
  EXPECT_EQ(largest_that(1, 100, [&asked](std::size_t) { return ++asked > 0; }), 100u);
  EXPECT_EQ(asked, 1);
  asked = 0;
  EXPECT_EQ(largest_that(1, 100, [&asked](std::size_t) { return ++asked < 0; }), 0u);
  EXPECT_EQ(asked, 2);
}

TEST(LargestThat, NeedsNoRangeAtAll) {
  EXPECT_EQ(largest_that(336, 336, [](std::size_t) { return true; }), 336u);
  EXPECT_EQ(largest_that(336, 336, [](std::size_t) { return false; }), 0u);
}

TEST(ProbePath, SaysThatANameLeadsNowhere) {
  const PathFacts facts = probe_path("no-such-host.invalid");
  EXPECT_FALSE(facts.is_answered);
  EXPECT_NE(facts.error, "");
}

}  // namespace
}  // namespace urnic::tools
