// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/forwarding_table.h"

#include <gmock/gmock.h>

#include <utility>

namespace urnic::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using transport::wire::Mac;

constexpr Mac kFirst{{2, 0, 0, 0, 0, 1}};
constexpr Mac kSecond{{2, 0, 0, 0, 0xff, 2}};
constexpr ForwardingTable::Clock::time_point kLearnedAt{};

TEST(ForwardingTable, FindsAnAddressWhereItWasSeenLast) {
  ForwardingTable table;
  EXPECT_FALSE(table.find(kFirst));
  table.learn(kFirst, 3, kLearnedAt);
  EXPECT_EQ(table.find(kFirst), 3);
  EXPECT_FALSE(table.find(kSecond));
  table.learn(kFirst, 5, kLearnedAt);
  EXPECT_EQ(table.find(kFirst), 5);
  EXPECT_EQ(table.size(), 1u);
}

TEST(ForwardingTable, ForgetsWhatHasBeenSilentForLong) {
  ForwardingTable table;
  table.learn(kFirst, 1, kLearnedAt);
  table.learn(kSecond, 2, kLearnedAt + std::chrono::seconds(1));
  table.forget_old(kLearnedAt + ForwardingTable::kMaxAge);
  EXPECT_EQ(table.size(), 2u);
  table.forget_old(kLearnedAt + ForwardingTable::kMaxAge + std::chrono::milliseconds(1));
  EXPECT_FALSE(table.find(kFirst));
  EXPECT_EQ(table.find(kSecond), 2);
}

TEST(ForwardingTable, SaysWhenItMayAnswerOtherwiseThanBefore) {
  ForwardingTable table;
  std::uint32_t last = table.generation();
  const auto has_changed = [&] { return std::exchange(last, table.generation()) != last; };
  table.learn(kFirst, 1, kLearnedAt);
  EXPECT_TRUE(has_changed());
  table.learn(kFirst, 1, kLearnedAt + std::chrono::seconds(1));
  EXPECT_FALSE(has_changed());
  table.learn(kFirst, 2, kLearnedAt + std::chrono::seconds(2));
  EXPECT_TRUE(has_changed());
  table.forget_old(kLearnedAt);
  EXPECT_FALSE(has_changed());
  table.forget_old(kLearnedAt + std::chrono::seconds(3) + ForwardingTable::kMaxAge);
  EXPECT_TRUE(has_changed());
}

TEST(ForwardingTable, ListsTheAddressesBehindAPort) {
  ForwardingTable table;
  table.learn(kSecond, 1, kLearnedAt);
  table.learn(kFirst, 1, kLearnedAt);
  EXPECT_THAT(table.addresses_behind(1), ElementsAre(kFirst, kSecond));
  EXPECT_THAT(table.addresses_behind(2), IsEmpty());
}

TEST(ForwardingTable, LearnsNoMoreWhenItIsFullButStillFollowsThoseItKnows) {
  ForwardingTable table;
  for (std::size_t i = 0; i < ForwardingTable::kMaxAddresses; ++i) {
    table.learn({{2, 0, 0, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)}}, 0,
                kLearnedAt);
  }
  const Mac one_more{{2, 9, 9, 9, 9, 9}};
  table.learn(one_more, 1, kLearnedAt);
  EXPECT_FALSE(table.find(one_more));
  EXPECT_EQ(table.size(), ForwardingTable::kMaxAddresses);
  table.learn(kFirst, 4, kLearnedAt);
  EXPECT_EQ(table.find(kFirst), 4);
}

}  // namespace
}  // namespace urnic::drivers
