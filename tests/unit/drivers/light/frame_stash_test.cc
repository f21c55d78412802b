// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/frame_stash.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace urnic::drivers {
namespace {

using Bytes = std::vector<std::byte>;

constexpr transport::Time kAtOnce{};

Bytes frame(std::uint8_t n) {
  return Bytes(10, std::byte{n});
}

Bytes taken(FrameStash& stash) {
  const auto due = stash.take_due(kAtOnce);
  return due ? Bytes(due->begin(), due->end()) : Bytes();
}

TEST(FrameStash, GivesBackTheLongestHeldOfThoseThatAreDue) {
  FrameStash stash(100);
  stash.add(frame(1), {.gap = 2});
  stash.add(frame(2), {});
  stash.add(frame(3), {.gap = 1});
  stash.pass();
  EXPECT_EQ(taken(stash), frame(2));
  EXPECT_EQ(taken(stash), frame(3));
  EXPECT_EQ(taken(stash), Bytes());
  stash.pass();
  EXPECT_TRUE(stash.has_due(kAtOnce));
  EXPECT_EQ(taken(stash), frame(1));
  EXPECT_FALSE(stash.has_due(kAtOnce));
}

TEST(FrameStash, PutsOffThoseThatFindNoRoomInTheirOrder) {
  FrameStash stash(100);
  for (const auto n : std::to_array<std::uint8_t>({1, 2, 3})) stash.add(frame(n), {});
  stash.put_off_due(kAtOnce);
  stash.put_off_due(kAtOnce);
  EXPECT_EQ(stash.held(), 3u);
  EXPECT_EQ(taken(stash), frame(3));
  EXPECT_EQ(taken(stash), frame(1));
  EXPECT_EQ(taken(stash), frame(2));
}

TEST(FrameStash, TakesNoMoreThanItsSlotsUntilTakenFramesAreReleased) {
  FrameStash stash(100);
  for (std::size_t i = 0; i < FrameStash::kSlots; ++i) ASSERT_FALSE(stash.add(frame(1), {}).empty());
  EXPECT_TRUE(stash.add(frame(2), {}).empty());
  EXPECT_EQ(taken(stash), frame(1));
  EXPECT_TRUE(stash.add(frame(2), {}).empty());
  stash.release_taken();
  EXPECT_FALSE(stash.add(frame(2), {}).empty());
}

TEST(FrameStash, KeepsTakenFramesUntouchedUntilTheyAreReleased) {
  FrameStash stash(100);
  stash.add(frame(1), {});
  const auto first = stash.take_due(kAtOnce);
  for (std::size_t i = 1; i < FrameStash::kSlots; ++i) stash.add(frame(9), {});
  EXPECT_EQ(Bytes(first->begin(), first->end()), frame(1));
}

TEST(FrameStash, GivesTheCopyToBeChanged) {
  FrameStash stash(100);
  stash.add(frame(1), {})[3] = std::byte{7};
  EXPECT_EQ(taken(stash)[3], std::byte{7});
}

}  // namespace
}  // namespace urnic::drivers
