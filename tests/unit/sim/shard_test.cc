// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/shard.h"

#include <gtest/gtest.h>

namespace urnic::sim {
namespace {

TEST(Shard, IsWrittenAsItsNumberAndHowManyThereAre) {
  const auto shard = Shard::parse("3/100");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard.value().number, 3u);
  EXPECT_EQ(shard.value().of, 100u);
  for (const char* text : {"", "3", "/", "3/", "/3", "0/3", "4/3", "0/0", "-1/3", "1/3 ", " 1/3", "1/3/3",
                           "1.5/3", "one/two", "1/18446744073709551616"}) {
    EXPECT_FALSE(Shard::parse(text)) << '"' << text << '"';
  }
}

TEST(Shard, AllOfThemTogetherHaveEachItemOnce) {
  for (std::uint64_t of = 1; of <= 7; ++of) {
    for (std::uint64_t position = 0; position < 50; ++position) {
      std::uint64_t owners = 0;
      for (std::uint64_t number = 1; number <= of; ++number) owners += Shard{number, of}.has(position);
      EXPECT_EQ(owners, 1u) << position << " of " << of;
    }
  }
}

TEST(Shard, TheWholeIsTheFirstOfOne) {
  EXPECT_TRUE(Shard{}.has(0));
  EXPECT_TRUE(Shard{}.has(12345));
}

}  // namespace
}  // namespace urnic::sim
