// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What priority flow control does to those who have done nothing.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;

Result victim(const char* congestion) {
  const network::Topology topology = shipped_topology("victim");
  Workload workload = shipped_workload("victim", topology);
  workload.congestion = nic::parse_congestion(congestion).value();
  return run(topology, workload);
}

// The paper of DCQCN (SIGCOMM 2015) has the same: a flow that crosses no congested link loses its rate to a
// pause that others cause, and gets it back with DCQCN.
TEST(Victim, IsSlowedDownByAPauseForOthersAndNotWithDcqcn) {
  constexpr double kAlone = 10e9 * 1024 / 1106;
  const auto rate = [](const Result& result) {
    return result.mean(Metric::kGoodput, "c->victim", 100ms, 200ms);
  };
  const auto paused = [](const Result& result) {
    return result.mean(Metric::kPausedUs, "left->right/3", 100ms, 200ms);
  };
  const Result without = victim("none");
  const Result with = victim("dcqcn:hpcc");
  EXPECT_LT(rate(without), 0.06 * kAlone) << "what each of the others gets of the slow link";
  EXPECT_GT(rate(with), 0.98 * kAlone);
  EXPECT_GT(paused(without), 9) << "us of each 10";
  EXPECT_EQ(paused(with), 0);
  EXPECT_EQ(without.outcome.total().all_dropped() + with.outcome.total().all_dropped(), 0u);
}

Result ring(bool has_watchdog) {
  network::Topology topology = shipped_topology("pfc_ring");
  if (!has_watchdog) topology.profiles[0].priorities[3].lossless->watchdog = {};
  return run(topology, shipped_workload("deadlock", topology));
}

double late_goodput(const Result& result) {
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    sum += result.mean(Metric::kGoodput, fmt::format("host{}->host{}", i, (i + 2) % 5), 5ms, 60ms);
  }
  return sum;
}

TEST(Deadlock, LastsForEverWithoutAWatchdog) {
  const Result result = ring(false);
  EXPECT_EQ(late_goodput(result), 0);
  EXPECT_EQ(result.outcome.total().all_dropped(), 0u);
}

TEST(Deadlock, IsEndedByTheWatchdogAtTheCostOfItsFrames) {
  const Result result = ring(true);
  EXPECT_GT(result.outcome.total().watchdog_fired, 0u);
  EXPECT_GT(result.outcome.total().dropped_frames[static_cast<std::size_t>(network::DropReason::kWatchdog)],
            0u);
  EXPECT_GT(late_goodput(result), 1e9);
}

}  // namespace
}  // namespace urnic::experiment::test
