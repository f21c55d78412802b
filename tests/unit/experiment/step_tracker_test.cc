// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/step_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;

Step transfer(unsigned from, unsigned to, std::vector<std::size_t> after = {}) {
  return {.host = HostId(from), .peer = HostId(to), .bytes = 1, .after = std::move(after)};
}
Step work(unsigned host, Duration duration, std::vector<std::size_t> after = {}) {
  return {.operation = Operation::kCompute,
          .host = HostId(host),
          .peer = HostId(host),
          .after = std::move(after),
          .duration = duration};
}
Workload workload(std::vector<Step> steps, Duration start = {}) {
  Workload workload;
  workload.jobs = {{.name = "job", .start = start}};
  workload.steps = std::move(steps);
  return workload;
}
std::vector<std::size_t> due(StepTracker& tracker, Duration now) {
  std::vector<std::size_t> steps;
  while (const auto step = tracker.next_due(now)) steps.push_back(*step);
  return steps;
}

TEST(StepTracker, BeginsWhatWaitsForNothingWhenTheJobStarts) {
  const Workload two = workload({transfer(0, 1), transfer(1, 0)}, 5us);
  StepTracker tracker(two);
  EXPECT_EQ(tracker.next_time(), Duration(5us));
  EXPECT_THAT(due(tracker, 4us), testing::IsEmpty());
  EXPECT_THAT(due(tracker, 5us), testing::ElementsAre(0, 1));
  EXPECT_EQ(tracker.next_time(), std::nullopt);
  EXPECT_EQ(tracker.begun(0), Duration(5us));
  EXPECT_EQ(tracker.completed(0), std::nullopt);
}

TEST(StepTracker, TheReceiverGoesOnWhenItHasArrivedAndTheSenderWhenItIsComplete) {
  const Workload three = workload({transfer(0, 1), transfer(1, 2, {0}), transfer(0, 2, {0})});
  StepTracker tracker(three);
  due(tracker, 0us);
  tracker.arrive(0, 3us);
  EXPECT_THAT(due(tracker, 3us), testing::ElementsAre(1)) << "host 0 does not know yet";
  tracker.complete(0, 4us);
  EXPECT_THAT(due(tracker, 4us), testing::ElementsAre(2));
  EXPECT_EQ(tracker.begun(2), Duration(4us));
}

TEST(StepTracker, WaitsForAllStepsBefore) {
  const Workload three = workload({transfer(0, 2), transfer(1, 2), transfer(2, 0, {0, 1})});
  StepTracker tracker(three);
  due(tracker, 0us);
  tracker.arrive(1, 1us);
  EXPECT_THAT(due(tracker, 1us), testing::IsEmpty());
  tracker.arrive(0, 2us);
  EXPECT_THAT(due(tracker, 2us), testing::ElementsAre(2));
}

TEST(StepTracker, ComputationsBeginAndEndByThemselves) {
  const Workload chain = workload({work(0, 10us), work(0, 0us, {0}), transfer(0, 1, {1})});
  StepTracker tracker(chain);
  EXPECT_THAT(due(tracker, 0us), testing::IsEmpty());
  EXPECT_EQ(tracker.next_time(), Duration(10us));
  EXPECT_THAT(due(tracker, 10us), testing::ElementsAre(2));
  EXPECT_EQ(tracker.open(), 1u);
  tracker.complete(2, 12us);
  EXPECT_TRUE(tracker.is_over());
}

}  // namespace
}  // namespace urnic::experiment::test
