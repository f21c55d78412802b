// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/srq_numbers.h"

#include <gtest/gtest.h>

#include "tests/support/sanitizers.h"

namespace urnic::nic {
namespace {

constexpr std::uint32_t kLast = 0xffffff;

TEST(SrqNumbers, NeverGivesOutZeroWhenTheyWrap) {
  SrqNumbers numbers(kLast);
  EXPECT_EQ(numbers.take(), kLast);
  EXPECT_EQ(numbers.take(), 1u);
}

TEST(SrqNumbers, PassesOverOnesThatAreTakenWhenTheyWrap) {
  if (kHasAddressSanitizer) {
    GTEST_SKIP() << "sixteen million allocations take AddressSanitizer a quarter of a minute";
  }
  SrqNumbers numbers;
  EXPECT_EQ(numbers.take(), 1u);
  EXPECT_EQ(numbers.take(), 2u);
  for (std::uint32_t number = 3; number <= kLast; ++number) {
    ASSERT_EQ(numbers.take(), number);
    numbers.give_back(number);
  }
  EXPECT_EQ(numbers.take(), 3u);
}

TEST(SrqNumbers, UsesOneAgainAsLateAsPossible) {
  SrqNumbers numbers;
  numbers.give_back(numbers.take());
  EXPECT_EQ(numbers.take(), 2u);
}

}  // namespace
}  // namespace urnic::nic
