// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the patterns make, counted.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "tests/unit/experiment/laboratory.h"
#include "tools/simulation/experiment/step_tracker.h"

namespace urnic::experiment::test {
namespace {

std::vector<Step> steps_of(std::size_t count, const std::string& job, std::uint64_t seed = 1) {
  return workload_of(fmt::format(R"({{"jobs": [{{{}}}]}})", job), star(count), seed).steps;
}

struct Totals {
  std::map<unsigned, std::uint64_t> sent;      // bytes, by host
  std::map<unsigned, std::uint64_t> received;  // likewise
  std::size_t transfers = 0;
};
Totals totals(const std::vector<Step>& steps) {
  Totals totals;
  for (const Step& step : steps) {
    if (step.operation == Operation::kCompute) continue;
    ++totals.transfers;
    const bool is_read = step.operation == Operation::kRead;
    totals.sent[static_cast<unsigned>(is_read ? step.peer : step.host)] += step.bytes;
    totals.received[static_cast<unsigned>(is_read ? step.host : step.peer)] += step.bytes;
  }
  return totals;
}

TEST(Pattern, IncastIsFromAllToOne) {
  const Totals sums = totals(steps_of(5, R"("pattern": "incast", "to": "h2", "bytes": "1MB")"));
  EXPECT_THAT(sums.received, testing::ElementsAre(testing::Pair(2, 4'000'000)));
  EXPECT_THAT(sums.sent, testing::ElementsAre(testing::Pair(0, 1'000'000), testing::Pair(1, 1'000'000),
                                              testing::Pair(3, 1'000'000), testing::Pair(4, 1'000'000)));
}

TEST(Pattern, AnIncastOfReadsIsPostedByTheReceiver) {
  for (const Step& step :
       steps_of(4, R"("pattern": "incast", "to": "h2", "bytes": "1MB", "operation": "read")")) {
    EXPECT_EQ(step.host, HostId(2));
    EXPECT_EQ(step.operation, Operation::kRead);
  }
}

TEST(Pattern, APermutationHasEachHostOnceOnEachSide) {
  std::set<std::string> drawn;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<Step> steps = steps_of(6, R"("pattern": "permutation", "bytes": "1kB")", seed);
    const Totals sums = totals(steps);
    EXPECT_EQ(sums.sent.size(), 6u);
    EXPECT_EQ(sums.received.size(), 6u);
    EXPECT_EQ(sums.transfers, 6u);
    std::string text;
    for (const Step& step : steps) {
      EXPECT_NE(step.host, step.peer);
      text += fmt::format("{}>{} ", static_cast<unsigned>(step.host), static_cast<unsigned>(step.peer));
    }
    drawn.insert(text);
  }
  EXPECT_GT(drawn.size(), 10u);
}

TEST(Pattern, AllToAllIsEachPairOnce) {
  std::set<std::pair<HostId, HostId>> pairs;
  for (const Step& step : steps_of(7, R"("pattern": "all_to_all", "bytes": "1kB")")) {
    EXPECT_TRUE(pairs.emplace(step.host, step.peer).second);
    EXPECT_NE(step.host, step.peer);
  }
  EXPECT_EQ(pairs.size(), 42u);
}

// Each host sends 2 (n - 1) / n of the vector: no algorithm sends less (Patarasuk and Yuan).
TEST(Pattern, ARingAllReduceSendsNoMoreThanItHasTo) {
  const Totals sums = totals(steps_of(5, R"("pattern": "ring_all_reduce", "bytes": "1000kB")"));
  EXPECT_EQ(sums.transfers, 5u * 8u);
  for (const auto& [host, bytes] : sums.sent) EXPECT_EQ(bytes, 8 * 200'000u) << host;
  EXPECT_EQ(sums.sent, sums.received);
}

/// Follows contributions: what a host sends is made of all that it knows when it begins, and steps that begin
/// at the same time know nothing of each other. At the end each host must have the contribution of all.
void expect_all_reduced(std::size_t count, const std::string& job) {
  const Workload workload = workload_of(fmt::format(R"({{"jobs": [{{{}}}]}})", job), star(count));
  StepTracker tracker(workload);
  std::vector<std::set<std::size_t>> knows(count);
  for (std::size_t i = 0; i < count; ++i) knows[i].insert(i);
  while (const auto time = tracker.next_time()) {
    std::vector<std::pair<std::size_t, std::set<std::size_t>>> sent;
    while (const auto begun = tracker.next_due(*time)) {
      sent.emplace_back(*begun, knows[static_cast<std::size_t>(workload.steps[*begun].host)]);
    }
    for (const auto& [step, contributions] : sent) {
      knows[static_cast<std::size_t>(workload.steps[step].peer)].insert(contributions.begin(),
                                                                        contributions.end());
      tracker.arrive(step, *time);
      tracker.complete(step, *time);
    }
  }
  EXPECT_TRUE(tracker.is_over());
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(knows[i].size(), count) << i;
}

TEST(Pattern, AnAllReduceReachesAllHosts) {
  for (const std::size_t count : {2, 3, 7, 16}) {
    expect_all_reduced(count, R"("pattern": "ring_all_reduce", "bytes": "1MB")");
    expect_all_reduced(count, R"("pattern": "tree_all_reduce", "bytes": "1MB", "compute": "1us")");
  }
}

TEST(Pattern, ATreeSendsTheVectorUpAndDownEachBranch) {
  const Totals sums = totals(steps_of(7, R"("pattern": "tree_all_reduce", "bytes": "800kB", "chunks": 8)"));
  EXPECT_EQ(sums.transfers, 2u * 6u * 8u);
  const auto all = std::accumulate(sums.sent.begin(), sums.sent.end(), std::uint64_t{0},
                                   [](auto sum, const auto& one) { return sum + one.second; });
  EXPECT_EQ(all, 2u * 6u * 800'000u);
}

TEST(Pattern, AMixtureOfExpertsSendsEachTokenToSoManyExpertsAndBack) {
  constexpr std::uint64_t kTokenBytes = 1000;
  for (const char* skew : {"0", "1.2"}) {
    const std::vector<Step> steps = steps_of(
        8, fmt::format(R"("pattern": "moe", "tokens": 400, "top_k": 2, "bytes": "1kB", "skew": {})", skew));
    const Totals sums = totals(steps);
    EXPECT_EQ(sums.sent, sums.received) << "what goes there comes back";
    std::map<unsigned, std::uint64_t> dispatched;
    for (const Step& step : steps) {
      if (step.after.empty() && step.operation != Operation::kCompute)
        dispatched[static_cast<unsigned>(step.peer)] += step.bytes;
    }
    std::uint64_t tokens = 0;
    std::uint64_t most = 0;
    for (const auto& [host, bytes] : dispatched) {
      tokens += bytes / kTokenBytes;
      most = std::max(most, bytes / kTokenBytes);
    }
    // Two of eight for each of 3200 tokens; an eighth of them are the host's own and do not travel.
    EXPECT_NEAR(static_cast<double>(tokens), 6400 * 7.0 / 8, 6400 * 0.05);
    const double even = static_cast<double>(tokens) / 8;
    if (std::string_view(skew) == "0") {
      EXPECT_LT(static_cast<double>(most), 1.15 * even);
    } else {
      EXPECT_GT(static_cast<double>(most), 2 * even);
    }
  }
}

TEST(Pattern, PaddedMessagesAreAllAsLongAsTheLongest) {
  std::set<std::uint64_t> lengths;
  std::size_t transfers = 0;
  for (const Step& step :
       steps_of(4, R"("pattern": "moe", "tokens": 100, "bytes": "1kB", "skew": 1, "padded": 1)")) {
    if (step.operation == Operation::kCompute) continue;
    lengths.insert(step.bytes);
    ++transfers;
  }
  EXPECT_EQ(lengths.size(), 1u);
  EXPECT_EQ(transfers, 2u * 12u);
}

TEST(Pattern, ThePagesOfACacheAreMessagesOfTheirOwn) {
  const Workload workload = workload_of(
      R"({"jobs": [{"pattern": "kv_push", "from": ["h0"], "to": ["h1"], "pages": 16, "layers": 3, "bytes": "4KiB"}]})",
      star(2));
  EXPECT_EQ(workload.jobs[0].message_bytes, 4096u);
  ASSERT_EQ(workload.steps.size(), 3u);
  for (const Step& step : workload.steps) {
    EXPECT_EQ(step.bytes, 16u * 4096u);
    EXPECT_EQ(step.operation, Operation::kWriteWithImmediate);
  }
}

TEST(Pattern, AClientOfStorageHasSoManyReadsOutstanding) {
  const std::vector<Step> steps = steps_of(
      3, R"("pattern": "storage", "servers": ["h0", "h1"], "reads": 100, "outstanding": 4, "bytes": "4KiB")");
  ASSERT_EQ(steps.size(), 100u);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].host, HostId(2));
    if (i < 4) {
      EXPECT_THAT(steps[i].after, testing::IsEmpty());
    } else {
      EXPECT_THAT(steps[i].after, testing::ElementsAre(i - 4));
    }
  }
}

TEST(Pattern, ARepetitionBeginsWhereItsHostIsReady) {
  const std::vector<Step> steps =
      steps_of(3, R"("pattern": "permutation", "shift": 1, "bytes": "1kB", "repeat": 2)");
  // Three transfers, three barriers, three transfers.
  ASSERT_EQ(steps.size(), 9u);
  EXPECT_THAT(steps[3].after, testing::UnorderedElementsAre(0, 2)) << "what host 0 sent and what came to it";
  EXPECT_THAT(steps[6].after, testing::ElementsAre(3));
  EXPECT_EQ(steps[6].host, HostId(0));
}

}  // namespace
}  // namespace urnic::experiment::test
