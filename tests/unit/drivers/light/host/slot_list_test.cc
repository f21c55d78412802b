// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/slot_list.h"

#include <gmock/gmock.h>

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;
using ::testing::Eq;
using ::testing::Optional;

const SlotList::Time kBeginning{};

TEST(SlotList, HasSlots1To255EachOnce) {
  SlotList slots;
  for (unsigned slot = 1; slot <= 255; ++slot) {
    ASSERT_THAT(slots.next_new(), Optional(slot));
    ASSERT_EQ(slots.take_new(), slot);
  }
  EXPECT_EQ(slots.next_new(), std::nullopt);
  EXPECT_EQ(slots.take_rested(kBeginning), std::nullopt);
  EXPECT_EQ(slots.take_tired(), std::nullopt);
}

TEST(SlotList, GivesASlotAgainAfterTenSeconds) {
  SlotList slots;
  slots.take_new();
  slots.give_back(1, kBeginning);
  EXPECT_EQ(slots.take_rested(kBeginning + 10s - 1ns), std::nullopt);
  EXPECT_THAT(slots.take_rested(kBeginning + 10s), Optional(1u));
  EXPECT_EQ(slots.take_rested(kBeginning + 20s), std::nullopt);
}

TEST(SlotList, GivesTheOneThatRestedLongest) {
  SlotList slots;
  for (int i = 0; i < 3; ++i) slots.take_new();
  slots.give_back(2, kBeginning);
  slots.give_back(1, kBeginning + 1s);
  slots.give_back(3, kBeginning + 2s);
  EXPECT_THAT(slots.take_rested(kBeginning + 11s), Optional(2u));
  EXPECT_THAT(slots.take_tired(), Optional(1u));
  EXPECT_THAT(slots.take_tired(), Optional(3u));
}

TEST(SlotList, GivesAProcessTheSlotThatItHadAndOthersThoseThatRest) {
  SlotList slots;
  const SlotList::Time now{};
  EXPECT_TRUE(slots.take(3, now));
  EXPECT_FALSE(slots.take(3, now));
  EXPECT_TRUE(slots.take(1, now));
  EXPECT_EQ(slots.next_new(), 4u);
  EXPECT_EQ(slots.take_rested(now + SlotList::kRest), 2u);
  EXPECT_FALSE(slots.take(2, now));
}

}  // namespace
}  // namespace urnic::drivers
