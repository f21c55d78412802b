// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/raw/flow_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/nic/raw/flow_frame.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using transport::QpNumber;

constexpr QpNumber kFirst{1};
constexpr QpNumber kSecond{2};
constexpr QpNumber kThird{3};

FlowRule rule(std::uint16_t priority, bool traps = true) {
  return {.priority = priority, .traps = traps};
}
FlowRule of_kind(FlowKind kind) {
  return {.kind = kind};
}
/// Matches no frame of these tests.
FlowRule of_vlan() {
  return {.ethernet = EthernetMatch{.vlan_tag = {.value = 1, .mask = 0xfff}}};
}
FrameBytes frame() {
  return udp_over_ipv4();
}
FrameBytes frame_to_group() {
  FrameBytes result = frame();
  result[0] = std::byte{1};
  return result;
}

TEST(FlowTable, GivesAFrameToTheRuleThatMatches) {
  FlowTable table;
  EXPECT_TRUE(table.is_empty());
  table.add(of_vlan(), kFirst);
  table.add(rule(0), kSecond);
  EXPECT_FALSE(table.is_empty());
  const auto verdict = table.steer(frame());
  EXPECT_THAT(verdict.receivers, ElementsAre(kSecond));
  EXPECT_TRUE(verdict.is_trapped);
}

TEST(FlowTable, LeavesAFrameAloneThatNoRuleMatches) {
  FlowTable table;
  table.add(of_vlan(), kFirst);
  const auto verdict = table.steer(frame());
  EXPECT_THAT(verdict.receivers, IsEmpty());
  EXPECT_FALSE(verdict.is_trapped);
}

TEST(FlowTable, CountsWhatItGivesByARuleThatWantsIt) {
  FlowTable table;
  const auto counts = std::make_shared<FlowCounts>();
  FlowRule counting = rule(1);
  counting.counts = counts;
  table.add(counting, kFirst);
  FlowRule idle = of_vlan();
  idle.counts = counts;
  table.add(idle, kSecond);
  table.steer(frame());
  table.steer(frame_to_group());
  EXPECT_EQ(counts->packets, 2u);
  EXPECT_EQ(counts->bytes, 2 * frame().size());
  table.add(rule(0), kThird);
  table.steer(frame());
  EXPECT_EQ(counts->packets, 2u) << "another rule had the frame";
}

TEST(FlowTable, GoesByPriorityAndNotByAge) {
  FlowTable table;
  table.add(rule(5), kFirst);
  table.add(rule(1), kSecond);
  table.add(rule(9), kThird);
  EXPECT_THAT(table.steer(frame()).receivers, ElementsAre(kSecond));
}

TEST(FlowTable, GivesAFrameToEveryRuleOfTheSamePriority) {
  FlowTable table;
  table.add(rule(1), kFirst);
  table.add(rule(1), kSecond);
  table.add(rule(2), kThird);
  EXPECT_THAT(table.steer(frame()).receivers, ElementsAre(kFirst, kSecond));
}

TEST(FlowTable, LetsAFrameGoOnBehindARuleThatDoesNotTrap) {
  FlowTable table;
  table.add(rule(1, /*traps=*/false), kFirst);
  auto verdict = table.steer(frame());
  EXPECT_THAT(verdict.receivers, ElementsAre(kFirst));
  EXPECT_FALSE(verdict.is_trapped);
  table.add(rule(2), kSecond);
  table.add(rule(3), kThird);
  verdict = table.steer(frame());
  EXPECT_THAT(verdict.receivers, ElementsAre(kFirst, kSecond));
  EXPECT_TRUE(verdict.is_trapped);
}

TEST(FlowTable, ShowsSniffersEverythingAndTrapsNothingForThem) {
  FlowTable table;
  table.add(of_kind(FlowKind::kSniffer), kFirst);
  auto verdict = table.steer(frame());
  EXPECT_THAT(verdict.receivers, ElementsAre(kFirst));
  EXPECT_FALSE(verdict.is_trapped);
  EXPECT_THAT(table.steer({}).receivers, ElementsAre(kFirst)) << "whatever came";
  table.add(rule(0), kSecond);
  verdict = table.steer(frame());
  EXPECT_THAT(verdict.receivers, UnorderedElementsAre(kFirst, kSecond));
  EXPECT_TRUE(verdict.is_trapped);
}

TEST(FlowTable, GivesAFrameToAQueuePairOnce) {
  FlowTable table;
  table.add(of_kind(FlowKind::kSniffer), kFirst);
  table.add(of_kind(FlowKind::kAllDefault), kFirst);
  table.add(rule(0, /*traps=*/false), kFirst);
  table.add(rule(1, /*traps=*/false), kFirst);
  EXPECT_THAT(table.steer(frame()).receivers, ElementsAre(kFirst));
  EXPECT_THAT(table.take_unclaimed(frame()), IsEmpty());
}

TEST(FlowTable, KeepsWhatNobodyWantsForDefaultRules) {
  FlowTable table;
  table.add(of_kind(FlowKind::kAllDefault), kFirst);
  table.add(of_kind(FlowKind::kMulticastDefault), kSecond);
  EXPECT_THAT(table.steer(frame()).receivers, IsEmpty());
  EXPECT_THAT(table.take_unclaimed(frame()), ElementsAre(kFirst));
  EXPECT_THAT(table.steer(frame_to_group()).receivers, IsEmpty());
  EXPECT_THAT(table.take_unclaimed(frame_to_group()), UnorderedElementsAre(kFirst, kSecond));
  EXPECT_THAT(table.steer({}).receivers, IsEmpty());
  EXPECT_THAT(table.take_unclaimed({}), ElementsAre(kFirst)) << "an empty frame goes to no group";
}

TEST(FlowTable, ForgetsARuleOnce) {
  FlowTable table;
  const FlowId first = table.add(rule(0), kFirst);
  const FlowId second = table.add(rule(0), kFirst);
  EXPECT_NE(first, second);
  EXPECT_TRUE(table.remove(first));
  EXPECT_FALSE(table.remove(first));
  EXPECT_TRUE(table.has(kFirst));
  EXPECT_THAT(table.steer(frame()).receivers, ElementsAre(kFirst));
  EXPECT_TRUE(table.remove(second));
  EXPECT_FALSE(table.has(kFirst));
  EXPECT_TRUE(table.is_empty());
}

TEST(FlowTable, ForgetsAllRulesOfAQueuePair) {
  FlowTable table;
  for (const FlowKind kind :
       {FlowKind::kNormal, FlowKind::kSniffer, FlowKind::kAllDefault, FlowKind::kMulticastDefault}) {
    table.add(of_kind(kind), kFirst);
    table.add(of_kind(kind), kSecond);
  }
  EXPECT_EQ(table.size(), 8u);
  table.remove_all_of(kFirst);
  EXPECT_EQ(table.size(), 4u);
  EXPECT_FALSE(table.has(kFirst));
  EXPECT_TRUE(table.has(kSecond));
}

}  // namespace
}  // namespace urnic::nic
