// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/queue_pair_table.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace urnic::nic {
namespace {

using transport::QpNumber;
using transport::to_integer;

/// The table keeps pointers and never follows them.
QueuePair& queue_pair(std::uintptr_t at) {
  return *reinterpret_cast<QueuePair*>(at);
}

TEST(QueuePairTable, FindsWhatWasInsertedAndNothingElse) {
  QueuePairTable table(1);
  const QpNumber number = table.allocate().value();
  EXPECT_EQ(table.find(number), nullptr);
  table.insert(number, queue_pair(0x1000));
  EXPECT_EQ(table.find(number), &queue_pair(0x1000));
  // The same slot under another number.
  EXPECT_EQ(table.find(QpNumber{(to_integer(number) + QueuePairTable::kSlots) & 0xffffff}), nullptr);
  table.release(number);
  EXPECT_EQ(table.find(number), nullptr);
  EXPECT_EQ(table.find(QpNumber{0}), nullptr);
  EXPECT_EQ(table.find(QpNumber{0xffffffff}), nullptr);
}

TEST(QueuePairTable, HasNumbersOfItsShareAlone) {
  QueuePairTable table(1);
  table.use({.bits = 8, .value = 0x5a});
  std::set<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < QueuePairTable::kSlots; ++i) {
    const auto number = table.allocate();
    ASSERT_TRUE(number);
    EXPECT_EQ(to_integer(*number) >> 16, 0x5au);
    numbers.insert(to_integer(*number));
  }
  EXPECT_EQ(numbers.size(), QueuePairTable::kSlots);
}

TEST(QueuePairTable, BeginsAtAPlaceThatDependsOnTheSeed) {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    firsts.insert(to_integer(QueuePairTable(seed).allocate().value()));
    EXPECT_EQ(QueuePairTable(seed).allocate(), QueuePairTable(seed).allocate());
  }
  EXPECT_EQ(firsts.size(), 20u);
}

TEST(QueuePairTable, HandsOutEachNumberOnceInAllTwentyFourBits) {
  QueuePairTable table(7);
  std::vector<bool> seen(1u << 24);
  // All numbers but three reserved ones, each freed at once.
  for (std::uint32_t i = 0; i < (1u << 24) - 3; ++i) {
    const QpNumber number = table.allocate().value();
    table.release(number);
    ASSERT_FALSE(seen[to_integer(number)]) << "number " << to_integer(number) << " after " << i;
    seen[to_integer(number)] = true;
  }
  EXPECT_FALSE(seen[0]);
  EXPECT_FALSE(seen[1]);
  EXPECT_FALSE(seen[0xffffff]);
}

TEST(QueuePairTable, IsFullWithAsManyAsTheDeviceSays) {
  QueuePairTable table(3);
  std::vector<QpNumber> numbers;
  for (std::uint32_t i = 0; i < DeviceLimits::kMaxQueuePairs; ++i) {
    numbers.push_back(table.allocate().value());
  }
  EXPECT_EQ(table.allocate(), std::nullopt);
  table.release(numbers[5000]);
  const QpNumber again = table.allocate().value();
  EXPECT_NE(again, numbers[5000]);
  EXPECT_EQ(table.allocate(), std::nullopt);
}

}  // namespace
}  // namespace urnic::nic
