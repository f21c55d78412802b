// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What congestion control is for: flows share a link fairly, queues stay short, and senders that were paused
// before are not.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;

constexpr double kMax = 160'000;  // of incast_of()
constexpr double kPayloadOfLink =
    10e9 * 1024 / 1106;  // frames of 1024 bytes, and what Ethernet and RoCEv2 put around
constexpr Duration kSettled = 50ms;
constexpr Duration kEnd = 100ms;
constexpr const char* kLossyQueue = "switch->receiver/0";
constexpr const char* kLosslessQueue = "switch->receiver/3";

Result incast(std::size_t senders, const std::string& congestion, unsigned dscp,
              const std::string& operation = "write") {
  const network::Topology topology = incast_of(senders);
  return run(topology,
             workload_of(
                 fmt::format(
                     R"({{"path_mtu": 1024, "congestion": "{}", "until": "100ms", "ack_timeout": 12, "jobs": [
      {{"pattern": "incast", "to": "receiver", "bytes": "1GB", "message": "64KiB", "dscp": {}, "operation": "{}"}}]}})",
                     congestion, dscp, operation),
                 topology));
}

/// What one sender gets through. A READ's is of the connection that asks for it.
double goodput_of(const Result& result, std::size_t sender) {
  double sum = 0;
  for (const std::string& of :
       {fmt::format("sender{}->receiver", sender), fmt::format("receiver->sender{}", sender)}) {
    sum += result.mean(Metric::kGoodput, of, kSettled, kEnd);
  }
  return sum;
}

double goodput(const Result& result, std::size_t senders) {
  double sum = 0;
  for (std::size_t i = 0; i < senders; ++i) sum += goodput_of(result, i);
  return sum;
}

/// Jain's index of what the senders get.
double fairness(const Result& result, std::size_t senders) {
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < senders; ++i) {
    const double one = goodput_of(result, i);
    sum += one;
    squares += one * one;
  }
  return sum * sum / (static_cast<double>(senders) * squares);
}

std::uint64_t pauses_after(const Result& result, std::size_t senders, Duration from) {
  double paused = 0;
  for (std::size_t i = 0; i < senders; ++i) {
    paused += result.mean(Metric::kPausedUs, fmt::format("sender{}->switch/3", i), from, kEnd);
  }
  return static_cast<std::uint64_t>(paused * 1e3);
}

TEST(Incast, OverflowsALossyQueueWithoutAController) {
  const Result result = incast(8, "none", 0);
  EXPECT_GT(result.outcome.total().dropped_frames[0], 100u);
  EXPECT_GT(result.outcome.transport.sequence_naks + result.outcome.transport.timeouts, 0u);
}

TEST(Incast, PausesTheSendersOfALosslessQueueWithoutAController) {
  const Result result = incast(8, "none", 26);
  EXPECT_GT(result.quantile(Metric::kQueueBytes, kLosslessQueue, 0.5, kSettled, kEnd), 3 * kMax);
  EXPECT_GT(pauses_after(result, 8, kSettled), 0u);
  EXPECT_EQ(result.outcome.total().all_dropped(), 0u);
}

/// The same of WRITEs and of READs: what congests is their data.
void expect_dcqcn_to_be_fair(const std::string& operation) {
  struct Case {
    std::size_t senders;
    double longest;  // queue, of Kmax
    double carried;  // of the link
  };
  for (const auto& [senders, longest, carried] : {Case{8, 1.25, 0.9}, Case{16, 1.6, 0.8}}) {
    const Result result = incast(senders, "dcqcn:hpcc", 26, operation);
    EXPECT_LT(result.highest(Metric::kQueueBytes, kLosslessQueue, kSettled, kEnd), kMax * longest) << senders;
    EXPECT_LT(result.mean(Metric::kQueueBytes, kLosslessQueue, kSettled, kEnd), kMax * 0.6) << senders;
    EXPECT_GT(fairness(result, senders), 0.97) << senders;
    EXPECT_GT(goodput(result, senders), carried * kPayloadOfLink) << senders;
    EXPECT_EQ(pauses_after(result, senders, kSettled), 0u) << senders;
    EXPECT_EQ(result.outcome.total().all_dropped(), 0u) << senders;
    EXPECT_GT(result.outcome.transport.cnps_handled, 1000u) << senders;
    // Those sent at the end are still on their way.
    EXPECT_NEAR(static_cast<double>(result.outcome.transport.cnps_handled),
                static_cast<double>(result.outcome.transport.cnps_sent), 16)
        << senders;
  }
}

TEST(Incast, IsFairWithDcqcnItsQueueShortAndNoSenderPaused) {
  expect_dcqcn_to_be_fair("write");
}
TEST(ReadIncast, IsFairWithDcqcnItsQueueShortAndNoSenderPaused) {
  expect_dcqcn_to_be_fair("read");
}

TEST(ReadIncast, PausesTheSendersOfALosslessQueueWithoutAController) {
  const Result result = incast(8, "none", 26, "read");
  EXPECT_GT(pauses_after(result, 8, kSettled), 0u);
  EXPECT_EQ(result.outcome.total().all_dropped(), 0u);
}

TEST(TwoFlows, ConvergeToHalfEach) {
  const network::Topology topology = incast_of(2);
  const Result result =
      run(topology, workload_of(R"({"path_mtu": 1024, "congestion": "dcqcn:hpcc", "until": "100ms", "jobs": [
      {"pattern": "flow", "from": "sender0", "to": "receiver", "bytes": "1GB", "message": "64KiB", "dscp": 26},
      {"pattern": "flow", "from": "sender1", "to": "receiver", "bytes": "1GB", "message": "64KiB", "dscp": 26, "start": "10ms"}]})",
                                topology));
  EXPECT_GT(result.mean(Metric::kGoodput, "sender0->receiver", 2ms, 10ms), 0.95 * kPayloadOfLink)
      << "alone it has the link";
  EXPECT_GT(fairness(result, 2), 0.99);
  EXPECT_GT(goodput(result, 2), 0.9 * kPayloadOfLink);
}

TEST(Timely, KeepsTheQueueShortWithoutMarks) {
  const Result result = incast(8, "timely:t_low=50,t_high=300,min_rtt=20", 26);
  EXPECT_LT(result.highest(Metric::kQueueBytes, kLosslessQueue, kSettled, kEnd), kMax / 2);
  EXPECT_GT(fairness(result, 8), 0.95);
  EXPECT_GT(goodput(result, 8), 0.8 * kPayloadOfLink);
  EXPECT_EQ(result.outcome.transport.cnps_sent, 0u);
}

// 10 Gb/s for 140 us are 175 kB.
TEST(Swift, KeepsTheQueueAtItsTargetDelay) {
  const Result result = incast(8, "swift:base_delay=40,fs_range=100", 26);
  EXPECT_LT(result.highest(Metric::kQueueBytes, kLosslessQueue, kSettled, kEnd), 200'000u);
  EXPECT_GT(fairness(result, 8), 0.98);
  EXPECT_GT(goodput(result, 8), 0.9 * kPayloadOfLink);
}

TEST(Fixed, IsWhatALinkCarriesOfIt) {
  const Result result = incast(2, "fixed:rate=2000", 0);
  for (const char* of : {"sender0->receiver", "sender1->receiver"}) {
    EXPECT_NEAR(result.mean(Metric::kGoodput, of, kSettled, kEnd), 2e9 * 1024 / 1106, 2e7);
  }
  EXPECT_LT(result.highest(Metric::kQueueBytes, kLossyQueue, kSettled, kEnd), 3 * 1106);
}

TEST(Goodput, GrowsWithAcknowledgementsAndNotWithWholeMessages) {
  const network::Topology topology = incast_of(1);
  const Result result = run(topology, workload_of(R"({"path_mtu": 1024, "until": "5ms", "jobs": [
      {"pattern": "flow", "from": "sender0", "to": "receiver", "bytes": "1GB", "message": "16MiB"}]})",
                                                  topology));
  // An acknowledgement is for 32 packets at most, and an interval of 10 us is as long as 11.
  EXPECT_LT(result.highest(Metric::kGoodput, "sender0->receiver", 1ms, 4ms), 4 * kPayloadOfLink);
  EXPECT_NEAR(result.mean(Metric::kGoodput, "sender0->receiver", 1ms, 4ms), kPayloadOfLink,
              0.05 * kPayloadOfLink);
}

TEST(AllControllers, AreTheSameTwiceAndOtherwiseWithAnotherSeed) {
  for (const char* congestion : {"none", "dcqcn:hpcc", "timely", "swift"}) {
    const network::Topology topology = incast_of(4);
    const Workload workload = workload_of(fmt::format(R"({{"congestion": "{}", "jobs": [
        {{"pattern": "incast", "to": "receiver", "bytes": "1MB"}}]}})",
                                                      congestion),
                                          topology);
    const Outcome first = run(topology, workload).outcome;
    EXPECT_EQ(run(topology, workload).outcome.trace_hash, first.trace_hash) << congestion;
    EXPECT_NE(run(topology, workload, 2).outcome.trace_hash, first.trace_hash) << congestion;
    EXPECT_TRUE(first.is_over) << congestion << first.failure;
  }
}

}  // namespace
}  // namespace urnic::experiment::test
