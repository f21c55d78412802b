// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The pauses of a modelled network, whose hosts and switches obey them: judged clean, until the capture is
// spoilt.
#include "tests/unit/check/modelled_pauses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check::test {
namespace {

constexpr std::size_t kPriority = 3;

bool is_pause(const CapturedFrame& frame) {
  const auto link = parse_link(LinkType::kEthernet, frame.bytes);
  return link && link->pause;
}

bool is_xon(const CapturedFrame& frame) {
  const auto link = parse_link(LinkType::kEthernet, frame.bytes);
  return link && link->pause && link->pause->quanta[kPriority] == 0;
}

struct Outcome {
  std::uint64_t ignored = 0;
  std::uint64_t unclear = 0;
  std::uint64_t violations = 0;
  std::uint64_t xoff = 0;
  std::uint64_t xon = 0;
  std::int64_t paused_ns = 0;
};

Outcome outcome_of(const std::vector<CapturedFrame>& frames, const std::vector<Mac>& host = {}) {
  Outcome outcome;
  check_capture(Capture(frames), {.congestion = {.link_rate_bps = 100e9, .link_host = host}},
                [&](const Checker& checker) {
                  outcome.ignored = checker.findings().count_of(Rule::kPauseIgnored);
                  outcome.unclear = checker.findings().count_of(Rule::kPauseUnclear);
                  outcome.violations = checker.findings().count_of(Severity::kViolation);
                  for (const Pauser& pauser : checker.pauses().pausers()) {
                    outcome.xoff += pauser.counts[kPriority].xoff;
                    outcome.xon += pauser.counts[kPriority].xon;
                    outcome.paused_ns += pauser.counts[kPriority].paused_ns;
                  }
                });
  return outcome;
}

TEST(ModelledPauses, OfASwitchAreObeyedByTheHost) {
  for (const Place place : {Place::kSenderAtSwitch, Place::kSenderAtHost}) {
    const ModelledLink link = capture_modelled_link(place, false);
    const Outcome outcome = outcome_of(link.frames, {mac_of_modelled(1)});
    EXPECT_EQ(outcome.violations, 0u);
    EXPECT_EQ(outcome.unclear, 0u);
    EXPECT_GT(outcome.xoff, 10u);
    EXPECT_EQ(outcome.xoff + outcome.xon, link.pauses_sent);
    EXPECT_GT(outcome.paused_ns, 100'000) << "of 400 us; a fourth of the link is what each sender has";
  }
}

// Four senders pause in turn as long as the receiver does.
TEST(ModelledPauses, OfTheReceiverReachTheSenders) {
  const ModelledLink link = capture_modelled_link(Place::kSenderAtSwitch, true);
  const Outcome outcome = outcome_of(link.frames, {mac_of_modelled(1)});
  EXPECT_EQ(outcome.violations + outcome.unclear, 0u);
  EXPECT_GT(outcome.paused_ns, 290'000);
}

// The model gives each port an address of its own, and a host sends its pause frames from that.
class PausesOfAReceiver : public testing::Test {
 protected:
  PausesOfAReceiver() {
    const auto first = std::find_if(paused_.frames.begin(), paused_.frames.end(), is_pause);
    if (first != paused_.frames.end())
      receiver_.push_back(parse_link(LinkType::kEthernet, first->bytes)->source);
  }

  ModelledLink paused_ = capture_modelled_link(Place::kReceiverAtHost, true);
  std::vector<Mac> receiver_ = {mac_of_modelled(0)};
};

TEST_F(PausesOfAReceiver, AreObeyedByTheSwitch) {
  const Outcome outcome = outcome_of(paused_.frames, receiver_);
  EXPECT_EQ(outcome.violations + outcome.unclear, 0u);
  EXPECT_EQ(outcome.xoff + outcome.xon, paused_.pauses_sent);
  EXPECT_EQ(outcome.xon, 1u);
  EXPECT_NEAR(static_cast<double>(outcome.paused_ns), 300'000, 1000);
}

// The same link without the pause has the frames of a switch that does not obey.
TEST_F(PausesOfAReceiver, AreIgnoredWhereFramesGoOn) {
  std::vector<CapturedFrame> frames = capture_modelled_link(Place::kReceiverAtHost, false).frames;
  EXPECT_EQ(outcome_of(frames, receiver_).violations, 0u);
  std::copy_if(paused_.frames.begin(), paused_.frames.end(), std::back_inserter(frames), is_pause);
  std::stable_sort(frames.begin(), frames.end(),
                   [](const CapturedFrame& a, const CapturedFrame& b) { return a.time_ns < b.time_ns; });
  const Outcome outcome = outcome_of(frames, receiver_);
  EXPECT_EQ(outcome.ignored, 1u);
  EXPECT_EQ(outcome.violations, 1u);
}

TEST(ModelledPauses, AreIgnoredWhereXonIsLost) {
  std::vector<CapturedFrame> frames = capture_modelled_link(Place::kSenderAtSwitch, false).frames;
  frames.erase(std::remove_if(frames.begin(), frames.end(), is_xon), frames.end());
  EXPECT_EQ(outcome_of(frames, {mac_of_modelled(1)}).ignored, 1u);
  const Outcome not_told = outcome_of(frames);
  EXPECT_EQ(not_told.violations, 0u) << "one sender and one receiver: the link may belong to either";
  EXPECT_EQ(not_told.unclear, 1u);
}

}  // namespace
}  // namespace urnic::check::test
