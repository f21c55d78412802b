// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

namespace urnic::nic {
namespace {

const Cell& cell_of(const Row& row, Column column) {
  return row.cells[static_cast<std::size_t>(column)];
}

template <typename Visit>
void for_each_column(Visit visit) {
  for (std::size_t i = 0; i < kColumnCount; ++i) visit(static_cast<Column>(i));
}

TEST(PersonalityTable, HasARowForEachBehaviourOnce) {
  std::set<std::string_view> names;
  for_each_row([&](const Row& row) { EXPECT_TRUE(names.insert(row.name).second) << row.name; });
  EXPECT_EQ(names.size(), behaviour_rows().size() + number_rows().size());
}

// A row that sets nothing, or the same member as another, would leave its values unseen.
TEST(PersonalityTable, HasARowForEachMemberOfAPersonality) {
  Personality personality;
  std::memset(static_cast<void*>(&personality), 0, sizeof personality);
  std::size_t members = 0;
  for_each_row([&](const Row& row) {
    Personality before;
    std::memcpy(static_cast<void*>(&before), &personality, sizeof personality);
    row.set(personality, 1);
    if (std::memcmp(&before, &personality, sizeof personality) != 0) ++members;
  });
  EXPECT_EQ(members, behaviour_rows().size() + number_rows().size());
}

TEST(PersonalityTable, SaysWhatEachCellStandsOn) {
  for_each_row([](const Row& row) {
    for_each_column([&](Column column) {
      const Cell& cell = cell_of(row, column);
      const std::string where = std::string(row.name) + " of " + std::string(name_of(column));
      switch (cell.standing) {
        case Standing::kOwn:
          EXPECT_TRUE(column == Column::kDefault || column == Column::kStrict) << where;
          break;
        case Standing::kUnknown:
          EXPECT_NE(column, Column::kDefault) << where;
          EXPECT_EQ(value_of(row, column), value_of(row, Column::kDefault)) << where;
          break;
        case Standing::kSmallest:
        case Standing::kAs:
          EXPECT_EQ(column, Column::kStrict) << where;
          break;
        default:
          EXPECT_FALSE(cell.source.empty()) << where;
      }
      EXPECT_FALSE(row.words(value_of(row, column)).empty()) << where;
    });
  });
}

// What urnic does without --like has its row, and is what the code without a table would do.
TEST(PersonalityTable, HasTheFirstOfEachBehaviourAsTheDefault) {
  for (const Row& row : behaviour_rows()) EXPECT_EQ(value_of(row, Column::kDefault), 0u) << row.name;
}

TEST(PersonalityTable, GrantsNoMoreStrictlyThanAnyOther) {
  for (const Row& row : number_rows()) {
    if (cell_of(row, Column::kStrict).standing != Standing::kSmallest) continue;
    for_each_column(
        [&](Column column) { EXPECT_LE(value_of(row, Column::kStrict), value_of(row, column)) << row.name; });
  }
}

TEST(PersonalityTable, GrantsNoMoreThanUrnicHas) {
  for_each_row([](const Row& row) {
    for_each_column([&](Column column) { EXPECT_LE(granted_value(row, column), row.most) << row.name; });
  });
}

TEST(PersonalityTable, FindsColumnsByName) {
  for_each_column([](Column column) { EXPECT_EQ(column_named(name_of(column)), column); });
  EXPECT_EQ(column_named("connectx7"), std::nullopt);
  EXPECT_EQ(column_named(""), std::nullopt);
}

TEST(PersonalityTable, MakesPersonalities) {
  EXPECT_EQ(personality_of(Column::kConnectX6).max_sge, 30u);
  EXPECT_EQ(personality_of(Column::kConnectX6).max_qp_wr, 32768u);
  EXPECT_EQ(personality_of(Column::kE810).atomics, Offer::kNo);
  EXPECT_EQ(personality_of(Column::kRxe).seven_retries, SevenRetries::kEndless);
  EXPECT_EQ(personality_of(Column::kStrict).max_sge, 6u);
  EXPECT_EQ(personality_of(Column::kStrict).send_room, RoomReturn::kWhenPolled);
  EXPECT_EQ(personality_of(Column::kDefault).max_sge, 32u);
}

TEST(PersonalityTable, SaysWhoseCountersAndFilesThereAre) {
  EXPECT_EQ(personality_of(Column::kDefault).counter_names, CounterNames::kOwn);
  EXPECT_EQ(personality_of(Column::kConnectX5).counter_names, CounterNames::kMlx5);
  EXPECT_EQ(personality_of(Column::kConnectX6).counter_names, CounterNames::kMlx5);
  EXPECT_EQ(personality_of(Column::kE810).counter_names, CounterNames::kIrdma);
  EXPECT_EQ(personality_of(Column::kRxe).counter_names, CounterNames::kRxe);
  EXPECT_EQ(personality_of(Column::kStrict).counter_names, CounterNames::kNone);
  EXPECT_EQ(personality_of(Column::kConnectX6).driver_files, DriverFiles::kMlx5);
  EXPECT_EQ(personality_of(Column::kE810).driver_files, DriverFiles::kNone);
  EXPECT_EQ(personality_of(Column::kRxe).driver_files, DriverFiles::kRxe);
  EXPECT_EQ(personality_of(Column::kStrict).driver_files, DriverFiles::kNone);
}

}  // namespace
}  // namespace urnic::nic
