// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "drivers/fault/fault_spec.h"
#include "nic/adversary/draw.h"
#include "verbs_api/adversary/spec.h"
#include "verbs_api/fault/fault_list.h"

namespace urnic::verbs_api {
namespace {

using nic::Behavior;
using testing::HasSubstr;
using testing::IsEmpty;

bool has(const nic::AdversarySettings& settings, Behavior behavior) {
  return settings.behaviors.test(static_cast<std::size_t>(behavior));
}

std::string error_of(const char* text) {
  const auto settings = parse_adversary(text);
  return settings ? "" : settings.error().message;
}

TEST(AdversarySpec, TakesTheBehaviorsOfTheSeed) {
  const auto settings = parse_adversary("seed=17");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings.value().seed, 17u);
  EXPECT_EQ(settings.value().behaviors, nic::behaviors_of(17));
  EXPECT_EQ(settings.value().scale, 1);
}

TEST(AdversarySpec, TakesTheBehaviorsThatTheUserNames) {
  const auto settings =
      parse_adversary("only=late-payload+lost-datagrams,scale=0.5,log=/tmp/acts.%p,seed=3").value();
  EXPECT_EQ(settings.behaviors.count(), 2u);
  EXPECT_TRUE(has(settings, Behavior::kLatePayload) && has(settings, Behavior::kLostDatagrams));
  EXPECT_EQ(settings.scale, 0.5);
  EXPECT_EQ(settings.log_file, "/tmp/acts.%p");
  const auto most = parse_adversary("only=all,off=slow-read").value();
  EXPECT_FALSE(has(most, Behavior::kSlowRead));
  EXPECT_FALSE(has(most, Behavior::kLostDatagrams));
  EXPECT_EQ(most.behaviors.count(), nic::kBehaviorCount - 2);
}

TEST(AdversarySpec, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("seed=x"), HasSubstr("'x' is no seed"));
  EXPECT_THAT(error_of("only=late-paylod"), HasSubstr("is it late-payload?"));
  EXPECT_THAT(error_of("only=zzz"), HasSubstr("urnic chaos --list"));
  EXPECT_THAT(error_of("scale=0"), HasSubstr("no scale"));
  EXPECT_THAT(error_of("scale=nan"), HasSubstr("no scale"));
  EXPECT_THAT(error_of("log="), HasSubstr("name of a file"));
  EXPECT_THAT(error_of("17"), HasSubstr("'17' is not understood"));
}

TEST(AdversarySpec, HasNoFaultsWithoutSuchBehaviors) {
  EXPECT_THAT(faults_of(parse_adversary("only=late-payload").value()), IsEmpty());
}

// What it writes, those understand who are told.
TEST(AdversarySpec, WritesFaultsThatAreUnderstood) {
  const auto settings = parse_adversary("only=all+lost-datagrams,seed=9").value();
  const auto faults = FaultList::parse(faults_of(settings));
  ASSERT_TRUE(faults) << faults.error().message;
  EXPECT_FALSE(faults.value().events.empty());
  EXPECT_TRUE(faults.value().calls.empty());
  const auto frames = drivers::FaultSpec::parse(faults.value().frames);
  ASSERT_TRUE(frames) << frames.error().message;
  EXPECT_EQ(frames.value().seed, 9u);
  EXPECT_EQ(frames.value().exact.size(), 5u);
}

}  // namespace
}  // namespace urnic::verbs_api
