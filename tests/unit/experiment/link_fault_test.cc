// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Exact faults on a link between two switches, and what the transport makes of them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "tests/unit/experiment/laboratory.h"

namespace urnic::experiment::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

network::Topology chain_with(std::string_view faults) {
  return topology_of(fmt::format(R"({{"profiles": [{{"name": "p"}}],
    "switches": [{{"name": "left", "profile": "p"}}, {{"name": "right", "profile": "p"}}], "hosts": ["a", "b"],
    "links": [{{"ends": ["a", "left"], "rate": "10Gb/s", "delay": "1us"}},
              {{"ends": ["left", "right"], "rate": "10Gb/s", "delay": "1us", "faults": "{}"}},
              {{"ends": ["right", "b"], "rate": "10Gb/s", "delay": "1us"}}]}})",
                                 faults));
}

/// A WRITE of 64 packets over it.
Outcome outcome_with(std::string_view faults) {
  const network::Topology topology = chain_with(faults);
  const Workload workload = workload_of(
      R"({"path_mtu": 1024, "jobs": [{"pattern": "flow", "from": "a", "to": "b", "bytes": "64KiB"}]})",
      topology);
  Result result = run(topology, workload);
  EXPECT_TRUE(result.outcome.is_over) << result.outcome.failure;
  return std::move(result.outcome);
}

TEST(LinkFaults, WithoutAnyNothingIsSentTwice) {
  const Outcome outcome = outcome_with("");
  EXPECT_THAT(outcome.faults, IsEmpty());
  EXPECT_EQ(outcome.transport.sequence_naks + outcome.transport.timeouts + outcome.transport.duplicates, 0u);
}

TEST(LinkFaults, ALostPacketIsMissedAtTheOtherEnd) {
  const Outcome outcome = outcome_with("drop:kind=write:psn=7");
  EXPECT_EQ(outcome.transport.sequence_naks, 1u);
  EXPECT_EQ(outcome.total().dropped(network::DropReason::kFault), 1u);
  EXPECT_THAT(outcome.faults,
              ElementsAre(HasSubstr("link left/right: fault drop:kind=write:psn=7 hit 1 of 2 packets")));
}

TEST(LinkFaults, DirectionsAreThoseOfTheFile) {
  EXPECT_EQ(outcome_with("drop:kind=write:psn=7:direction=tx").transport.sequence_naks, 1u);
  const Outcome other = outcome_with("drop:kind=write:psn=7:direction=rx");
  EXPECT_EQ(other.transport.sequence_naks, 0u);
  EXPECT_THAT(other.faults, ElementsAre(HasSubstr("hit nothing")));
}

TEST(LinkFaults, ACopyIsADuplicateForTheResponder) {
  EXPECT_EQ(outcome_with("dup:kind=write:psn=7").transport.duplicates, 1u);
}

TEST(LinkFaults, ADelayLengthensTheTransfer) {
  const Outcome plain = outcome_with("");
  const Outcome delayed = outcome_with("delay:kind=write:psn=63:by=20us");
  EXPECT_EQ(delayed.transport.sequence_naks, 0u) << "it is the last one";
  // The last one waits for nothing at the second switch then: the first packet, with its RETH, is longer than
  // the others.
  EXPECT_GT(delayed.time - plain.time, 19900ns);
  EXPECT_LE(delayed.time - plain.time, 20us);
}

TEST(LinkFaults, DamageIsDroppedByTheReceiver) {
  const Outcome outcome = outcome_with("corrupt:kind=write:psn=7");
  EXPECT_EQ(outcome.transport.sequence_naks, 1u);
  EXPECT_EQ(outcome.total().all_dropped(), 0u) << "no switch looks at the ICRC";
}

TEST(LinkFaults, AMarkIsAnsweredByACnp) {
  const Outcome outcome = outcome_with("ce:kind=write:psn=7");
  EXPECT_EQ(outcome.transport.marked, 1u);
  EXPECT_EQ(outcome.transport.cnps_sent, 1u);
}

TEST(LinkFaults, DiceHurtTheWholeLink) {
  const Outcome outcome = outcome_with("loss=0.05,corrupt=0.05,truncate=0.05,dup=0.05,reorder=0.05,seed=3");
  EXPECT_GT(outcome.total().dropped(network::DropReason::kFault), 0u);
  EXPECT_EQ(outcome.trace_hash,
            outcome_with("loss=0.05,corrupt=0.05,truncate=0.05,dup=0.05,reorder=0.05,seed=3").trace_hash);
}

TEST(LinkFaults, WrongWordsAreRefusedWithTheLink) {
  const network::Topology topology = chain_with("drop:psn=x");
  const Workload workload =
      workload_of(R"({"jobs": [{"pattern": "flow", "from": "a", "to": "b", "bytes": "64KiB"}]})", topology);
  try {
    run(topology, workload);
    FAIL() << "it ran";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("faults of the link left/right: fault 'drop:psn=x'"));
  }
}

}  // namespace
}  // namespace urnic::experiment::test
