// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The workloads that come with urnic run to their end on the topologies that they are for.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

namespace fs = std::filesystem;

/// What the comment of a workload says it is for.
const std::map<std::string, std::string> kTopologyOf = {
    {"deadlock", "pfc_ring"},  {"incast", "incast"},      {"inference", "leaf_spine"},
    {"moe", "leaf_spine"},     {"permutation", "incast"}, {"tensor_parallel", "leaf_spine"},
    {"two_flows", "dumbbell"}, {"victim", "victim"},
};

TEST(ShippedWorkloads, RunOnTheTopologyThatTheyAreFor) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(URNIC_SHIPPED_WORKLOADS)) {
    const std::string name = entry.path().stem().string();
    ASSERT_TRUE(kTopologyOf.contains(name)) << name;
    const network::Topology topology = shipped_topology(kTopologyOf.at(name));
    const Workload workload = shipped_workload(name, topology);
    EXPECT_EQ(workload.name, name);
    Experiment experiment(topology, workload, 1);
    const Outcome outcome = experiment.run();
    EXPECT_TRUE(outcome.failure.empty()) << name << ": " << outcome.failure;
    EXPECT_TRUE(outcome.is_over || outcome.time == workload.until) << name;
    for (const JobOutcome& job : outcome.jobs) EXPECT_GT(job.bytes, 0u) << name << ", " << job.name;
    ++count;
  }
  EXPECT_EQ(count, kTopologyOf.size());
}

}  // namespace
}  // namespace urnic::experiment::test
