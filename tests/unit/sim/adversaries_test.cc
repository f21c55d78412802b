// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which seeds have adversaries, and that the other ones are as they were before there were any.
#include <gtest/gtest.h>

#include <cstdint>

#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {
namespace {

std::size_t count(const Options& options) {
  std::size_t count = 0;
  for (const auto& adversary : options.adversaries) count += adversary ? 1 : 0;
  return count;
}

TEST(Adversaries, ChangeNothingElseOfASeed) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Options options = Options::draw(seed, {.adversaries = true});
    EXPECT_EQ(count(options), options.hosts);
    options.adversaries.clear();
    EXPECT_EQ(options.to_string(), Options::draw(seed, {.adversaries = false}).to_string());
  }
}

TEST(Adversaries, AreInOneSeedOfFour) {
  std::uint64_t worlds = 0;
  for (std::uint64_t seed = 1; seed <= 800; ++seed) worlds += count(Options::draw(seed)) > 0 ? 1 : 0;
  EXPECT_GT(worlds, 140u);
  EXPECT_LT(worlds, 240u);
}

}  // namespace
}  // namespace urnic::sim
