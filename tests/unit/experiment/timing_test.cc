// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How long things take, beside what one computes by hand.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;

JobOutcome job(const network::Topology& topology, const std::string& text) {
  const Outcome outcome =
      run(topology, workload_of(fmt::format(R"({{"jobs": [{}]}})", text), topology)).outcome;
  EXPECT_TRUE(outcome.is_over) << outcome.failure;
  return outcome.jobs.front();
}

double us(Duration time) {
  return static_cast<double>(time.count()) / 1e3;
}

// A frame with 4096 bytes of payload: 14 Ethernet, 20 IP, 8 UDP, 12 BTH, 4 ICRC, and 24 of Ethernet around
// it.
constexpr double kFullFrameUs = (4096 + 14 + 20 + 8 + 12 + 4 + 24) * 8 / 100e3;
// Of each direction: two links, and an address that has to be resolved first.
constexpr double kOneWayUs = 4;
constexpr double kResolveUs = 2 * kOneWayUs + 0.1;

TEST(Time, OfALongWriteIsThatOfItsBytes) {
  const JobOutcome flow =
      job(star(2), R"({"pattern": "flow", "from": "h0", "to": "h1", "bytes": "40960000B"})");
  const double expected = 10'000 * kFullFrameUs + kResolveUs + 2 * kOneWayUs;
  EXPECT_NEAR(us(flow.ended - flow.began), expected, 0.01 * expected);
  EXPECT_EQ(flow.bytes, 40'960'000u);
}

TEST(Time, OfAReadIsAsLong) {
  const JobOutcome flow = job(
      star(2), R"({"pattern": "flow", "from": "h0", "to": "h1", "bytes": "40960000B", "operation": "read"})");
  const double expected = 10'000 * kFullFrameUs + kResolveUs + 2 * kOneWayUs;
  EXPECT_NEAR(us(flow.ended - flow.began), expected, 0.01 * expected);
}

TEST(Time, OfAShortMessageIsARoundTrip) {
  const JobOutcome flow =
      job(star(2), R"({"pattern": "flow", "from": "h0", "to": "h1", "bytes": "8B", "repeat": 100})");
  EXPECT_NEAR(us(flow.completion_time(0.5)), 2 * kOneWayUs, 0.1);
}

// 2 (n - 1) rounds of a chunk of 1/n each (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms"),
// one after the other.
TEST(Time, OfARingAllReduceIsThatOfItsRounds) {
  for (const std::size_t hosts : {2, 4, 8}) {
    const std::uint64_t packets = 1000;  // of a chunk
    const JobOutcome ring =
        job(star(hosts),
            fmt::format(R"({{"pattern": "ring_all_reduce", "bytes": "{}B"}})", packets * 4096 * hosts));
    const double round = static_cast<double>(packets) * kFullFrameUs + kOneWayUs + kFullFrameUs;
    const double expected = 2 * static_cast<double>(hosts - 1) * round;
    EXPECT_NEAR(us(ring.ended - ring.began), expected, 0.03 * expected + kResolveUs) << hosts;
  }
}

// The last stage has worked when all microbatches have come through: stages - 1 to fill the pipeline, and one
// for each microbatch.
TEST(Time, OfAPipelineIsThatOfItsStages) {
  const JobOutcome pipeline =
      job(star(4), R"({"pattern": "pipeline", "microbatches": 16, "bytes": "40960B", "compute": "100us"})");
  const double passing = 10 * kFullFrameUs + kOneWayUs + kFullFrameUs;
  const double expected =
      (16 + 4 - 1 - 1) * 100 +
      3 * passing;  // from the end of the first computation to the end of the last message
  EXPECT_NEAR(us(pipeline.ended - pipeline.began), expected - 100, 10)
      << "the last stage's own work sends nothing";
}

TEST(Time, OfAStorageReadGrowsWithWhatWaitsBeforeIt) {
  const JobOutcome one = job(
      star(3),
      R"({"pattern": "storage", "servers": ["h0"], "hosts": ["h0", "h1"], "reads": 200, "bytes": "128KiB", "outstanding": 1})");
  const double alone = 32 * kFullFrameUs + 2 * kOneWayUs;
  EXPECT_NEAR(us(one.completion_time(0.5)), alone, 1);
  const JobOutcome many = job(
      star(3),
      R"({"pattern": "storage", "servers": ["h0"], "hosts": ["h0", "h1"], "reads": 200, "bytes": "128KiB", "outstanding": 8})");
  EXPECT_NEAR(us(many.completion_time(0.5)), 8 * 32 * kFullFrameUs, 0.1 * 8 * 32 * kFullFrameUs);
}

// 4.096 us x 2^code (fact 36) after each transmission; after retry_count repetitions the work request fails.
TEST(Time, OfATimeoutIsWhatItsCodeSays) {
  const network::Topology topology = star(2);
  for (const int code : {8, 14, 20, 31}) {
    const Workload workload = workload_of(
        fmt::format(
            R"({{"ack_timeout": {}, "retry_count": 3, "faults": {{"h1": "drop:kind=write:direction=rx:times=all"}},
        "jobs": [{{"pattern": "flow", "from": "h0", "to": "h1", "bytes": "8B"}}]}})",
            code),
        topology);
    const Outcome outcome = run(topology, workload).outcome;
    const double once = 4.096 * std::pow(2, code);
    EXPECT_FALSE(outcome.is_over);
    EXPECT_EQ(outcome.failure, "h0: a work request to h1 fails: RETRY_EXC_ERR");
    EXPECT_EQ(outcome.transport.timeouts, 4u);
    EXPECT_NEAR(us(outcome.time), 4 * once, 20) << code;
  }
}

}  // namespace
}  // namespace urnic::experiment::test
