// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/neighbor_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace urnic::nic {
namespace {

using transport::Time;
using transport::wire::Gid;

Gid numbered(std::uint32_t n) {
  return Gid{{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(n >> 24),
              static_cast<std::uint8_t>(n >> 16), static_cast<std::uint8_t>(n >> 8),
              static_cast<std::uint8_t>(n)}};
}

TEST(NeighborTable, FindsWhatWasAddedAndNothingElse) {
  NeighborTable table;
  EXPECT_EQ(table.find(numbered(1)), nullptr);
  Neighbor* const added = table.add(numbered(1));
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->address, numbered(1));
  EXPECT_EQ(added->state, NeighborState::kUnknown);
  EXPECT_EQ(table.find(numbered(1)), added);
  EXPECT_EQ(table.find(numbered(2)), nullptr);
  EXPECT_EQ(&table.at(table.index_of(*added)), added);
}

TEST(NeighborTable, ReplacesTheLeastRecentlyUsedWhenFull) {
  NeighborTable table;
  for (std::uint32_t n = 0; n < NeighborTable::kCapacity; ++n) {
    table.add(numbered(n))->used_at = Time(std::chrono::nanoseconds((n + 524) % 1024));
  }
  ASSERT_NE(table.add(numbered(5000)), nullptr);
  EXPECT_EQ(table.find(numbered(500)), nullptr);
  EXPECT_NE(table.find(numbered(5000)), nullptr);
  for (std::uint32_t n = 0; n < NeighborTable::kCapacity; ++n) {
    EXPECT_TRUE(n == 500 || table.find(numbered(n)) != nullptr) << n;
  }
}

TEST(NeighborTable, NeverReplacesAnEntryThatIsBeingAskedFor) {
  NeighborTable table;
  for (std::uint32_t n = 0; n < NeighborTable::kCapacity; ++n) {
    Neighbor* const entry = table.add(numbered(n));
    entry->asking = n % 2 == 0;
    entry->request_queued = n % 2 == 1;
  }
  EXPECT_EQ(table.add(numbered(5000)), nullptr);
  table.find(numbered(9))->request_queued = false;
  EXPECT_NE(table.add(numbered(5000)), nullptr);
  EXPECT_EQ(table.find(numbered(9)), nullptr);
}

TEST(NeighborTable, KeepsItsChainsThroughManyReplacements) {
  NeighborTable table;
  std::mt19937 random(1);
  std::uint32_t now = 0;
  for (int i = 0; i < 4'000; ++i) {
    const Gid address = numbered(random() % 4096);
    Neighbor* entry = table.find(address);
    if (entry == nullptr) {
      entry = table.add(address);
      ASSERT_NE(entry, nullptr);
    }
    ASSERT_EQ(entry->address, address);
    entry->used_at = Time(std::chrono::nanoseconds(++now));
  }
  std::size_t visited = 0;
  table.for_each([&](Neighbor& entry) {
    ++visited;
    EXPECT_EQ(table.find(entry.address), &entry);
  });
  EXPECT_EQ(visited, NeighborTable::kCapacity);
}

}  // namespace
}  // namespace urnic::nic
