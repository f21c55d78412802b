// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Marked packets and CNPs: what a capture shows of their connection, and what it cannot show.
#include "tools/conformance/check/congestion/notifications.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/check/congestion_frames.h"

namespace urnic::check::test {
namespace {

const std::set<Rule> kRulesOfNotifications = {Rule::kCnpSpacing,     Rule::kCnpWithNak,
                                              Rule::kCnpUnmarked,    Rule::kMarksUnanswered,
                                              Rule::kCnpMarksUnseen, Rule::kMarksWithoutCnp};

/// What is said of marks and CNPs, and how much it weighs: "cnp-unmarked habit".
std::multiset<std::string> said_of(const Capture& capture, const CheckOptions& options = {}) {
  std::multiset<std::string> said;
  check_capture(capture, options, [&](const Checker& checker) {
    for (const Finding& finding : checker.findings().kept()) {
      if (kRulesOfNotifications.contains(finding.rule)) {
        said.insert(std::string(info_of(finding.rule).name) + " " + to_string(finding.severity));
      }
    }
  });
  return said;
}

using testing::ElementsAre;
using testing::IsEmpty;

// In vs_sizes the client sends all odd frames up to 15, the server answers each of them. The answer shows
// which flow the server's CNPs are for.
class MarksAndCnps : public testing::Test {
 protected:
  Capture capture_ = Capture::fixture("vs_sizes");
};

TEST_F(MarksAndCnps, AreFineTogether) {
  mark(capture_, 1);
  insert_cnp(capture_, 1);
  EXPECT_THAT(said_of(capture_), IsEmpty());
  mark(capture_, 6);
  insert_cnp(capture_, 7);
  EXPECT_THAT(said_of(capture_), IsEmpty());
}

TEST_F(MarksAndCnps, MayBeTwoMarksAndThenTwoCnps) {
  mark(capture_, 3);
  mark(capture_, 5);
  insert_cnp(capture_, 6);
  insert_cnp(capture_, 7);
  EXPECT_THAT(said_of(capture_), IsEmpty());
}

TEST_F(MarksAndCnps, NeedNotGoTogetherWhenTheReceiverTakesNoPart) {
  mark(capture_, 1);
  mark(capture_, 5);
  EXPECT_THAT(said_of(capture_), ElementsAre("marks-without-cnp event"));
  check_capture(capture_, {}, [](const Checker& checker) {
    EXPECT_EQ(checker.notifications().marked_in(0), 2u);
    EXPECT_EQ(checker.notifications().marked_in(1), 0u);
  });
}

TEST_F(MarksAndCnps, AreNotExpectedOfAcknowledgements) {
  mark(capture_, 2);
  EXPECT_THAT(said_of(capture_), IsEmpty());
}

TEST_F(MarksAndCnps, OfOthersLeaveAFlowUnanswered) {
  mark(capture_, 1);
  capture_.edit(insert_cnp(capture_, 2)).ip_byte(19, 9).seal();  // for a host that sends nothing here
  EXPECT_THAT(said_of(capture_), ElementsAre("cnp-marks-unseen unknown", "marks-unanswered unknown"));
}

TEST_F(MarksAndCnps, CannotBeToldWhereNothingIsMarked) {
  insert_cnp(capture_, 2);
  insert_cnp(capture_, 7);
  EXPECT_THAT(said_of(capture_), ElementsAre("cnp-marks-unseen unknown"));
}

TEST_F(MarksAndCnps, AreNotOneMarkAndTwoCnps) {
  mark(capture_, 1);
  insert_cnp(capture_, 2);
  insert_cnp(capture_, 3);
  EXPECT_THAT(said_of(capture_), ElementsAre("cnp-unmarked habit"));
  EXPECT_THAT(said_of(capture_, {.policy = {.lossy = true}}), ElementsAre("cnp-unmarked unknown"));
}

TEST_F(MarksAndCnps, AreNotAMarkAndACnpLongBehind) {
  mark(capture_, 1);
  mark(capture_, 3);
  insert_cnp(capture_, 4);
  capture_.delay(9, 99'000'000);
  Capture late = capture_;
  late.delay(9, 2'000'000);
  insert_cnp(capture_, 8, 90'000'000);
  EXPECT_THAT(said_of(capture_), IsEmpty());
  insert_cnp(late, 8, 100'000'000);
  EXPECT_THAT(said_of(late), ElementsAre("cnp-unmarked habit"));
}

TEST_F(MarksAndCnps, CountACopyOnce) {
  mark(capture_, 1);
  mark(capture_, 3);
  insert_cnp(capture_, 4);
  const std::size_t second = insert_cnp(capture_, 5);
  capture_.edit(second).new_ip_id().seal();
  CapturedFrame copy = capture_[second];
  capture_.insert(copy, second);
  EXPECT_THAT(said_of(capture_), IsEmpty());
  check_capture(capture_, {}, [](const Checker& checker) {
    EXPECT_EQ(checker.counts().cnps, 3u);
    ASSERT_EQ(checker.notifications().spacing().senders().size(), 1u);
    EXPECT_EQ(checker.notifications().spacing().senders()[0].cnps, 2u);
  });
}

TEST_F(MarksAndCnps, AreNotLookedForInDamagedPackets) {
  mark(capture_, 1);
  const std::size_t number = insert_cnp(capture_, 2);
  capture_[number].bytes.back() ^= std::byte{1};
  EXPECT_THAT(said_of(capture_), ElementsAre("marks-without-cnp event"));
}

/// Where the server of vs_loss_requests sends its first NAK.
std::size_t first_nak(Capture& capture) {
  for (std::size_t number = 1; number <= capture.size(); ++number) {
    FrameEdit frame = capture.edit(number);
    if (frame.opcode() == 0x11 && frame.msn() != 0 &&
        capture[number].bytes.at(frame.bth_at() + 12) == std::byte{0x60})
      return number;
  }
  ADD_FAILURE() << "no NAK";
  return 1;
}

// ConnectX-5 and 6 do so (fact 51).
TEST(CnpOfASequenceNak, IsKnownBeforeItAndBehindIt) {
  for (const bool is_before : {true, false}) {
    Capture capture = Capture::fixture("vs_loss_requests");
    const std::size_t nak = first_nak(capture);
    const std::size_t cnp = insert_cnp(capture, is_before ? nak - 1 : nak, 1000, nak);
    if (is_before) capture[cnp].time_ns = capture[cnp + 1].time_ns - 1000;
    EXPECT_THAT(said_of(capture), ElementsAre("cnp-with-nak habit")) << is_before;
    check_capture(capture, {}, [&](const Checker& checker) {
      for (const Finding& finding : checker.findings().kept()) {
        if (finding.rule == Rule::kCnpWithNak) {
          EXPECT_THAT(finding.frames, ElementsAre(nak, nak + 1));  // a CNP before it has taken its number
        }
      }
    });
  }
}

TEST(CnpOfASequenceNak, IsOneAndComesAtOnce) {
  Capture twice = Capture::fixture("vs_loss_requests");
  const std::size_t nak = first_nak(twice);
  twice.delay(nak + 1, 3'000'000);  // the next NAK
  Capture late = twice;
  insert_cnp(twice, nak, 1000, nak);
  insert_cnp(twice, nak + 1, 1000, nak);
  EXPECT_THAT(said_of(twice), ElementsAre("cnp-marks-unseen unknown", "cnp-with-nak habit"));
  insert_cnp(late, nak, 2'000'000, nak);
  EXPECT_THAT(said_of(late), ElementsAre("cnp-marks-unseen unknown"));
}

TEST(CnpSpacing, IsReportedWithoutBeingJudged) {
  Capture capture = Capture::fixture("vs_sizes");
  std::size_t last = insert_cnp(capture, 2);
  for (const std::int64_t ns : {55'000, 70'000, 60'000}) last = insert_cnp(capture, last, ns);
  capture.edit(last).u24(5, 0x2e).seal();  // the last one for another queue pair
  check_capture(capture, {}, [](const Checker& checker) {
    ASSERT_EQ(checker.notifications().spacing().senders().size(), 1u);
    const CnpSender& sender = checker.notifications().spacing().senders()[0];
    EXPECT_EQ(to_string(sender.address), "10.77.0.3");
    EXPECT_EQ(sender.cnps, 4u);
    const auto& [to_queue_pair, to_address, from_port] = sender.distances;
    EXPECT_EQ(to_queue_pair.count(), 2u);
    EXPECT_EQ(to_queue_pair.least(), 55'000);
    EXPECT_EQ(to_address.count(), 3u);
    EXPECT_EQ(to_address.typical(), 60'000);
    EXPECT_EQ(from_port.least(), 55'000);
    EXPECT_EQ(checker.findings().count_of(Severity::kViolation), 0u);
  });
}

TEST(CnpSpacing, AllowsASixteenthForTheWayAndAMicrosecondForTimeStamps) {
  const auto violations = [](std::int64_t ns, const CongestionPolicy& policy) {
    Capture capture = Capture::fixture("vs_sizes");
    mark(capture, 1);
    insert_cnp(capture, insert_cnp(capture, 2), ns);
    std::uint64_t count = 0;
    check_capture(capture, {.congestion = policy},
                  [&](const Checker& checker) { count = checker.findings().count_of(Rule::kCnpSpacing); });
    return count;
  };
  const CongestionPolicy wide = {.cnp_spacing_ns = 64'000};
  EXPECT_EQ(violations(60'000, wide), 0u);
  EXPECT_EQ(violations(59'999, wide), 1u);
  const CongestionPolicy narrow = {.cnp_spacing_ns = 4'000};
  EXPECT_EQ(violations(3'000, narrow), 0u);
  EXPECT_EQ(violations(2'999, narrow), 1u);
}

// CNPs for two queue pairs, and for two addresses, may be as near as they like where the policy is about one.
TEST(CnpSpacing, IsThatOfItsScope) {
  const auto violations = [](std::uint8_t address, std::uint32_t qp, CnpScope scope) {
    Capture capture = Capture::fixture("vs_sizes");
    insert_cnp(capture, 2);
    capture.edit(insert_cnp(capture, 3, 5'000)).ip_byte(19, address).u24(5, qp).seal();
    std::uint64_t count = 0;
    check_capture(capture, {.congestion = {.cnp_spacing_ns = 50'000, .cnp_scope = scope}},
                  [&](const Checker& checker) { count = checker.findings().count_of(Rule::kCnpSpacing); });
    return count;
  };
  EXPECT_EQ(violations(2, 0x2c, CnpScope::kQueuePair), 0u) << "the first CNP is for 0x2d";
  EXPECT_EQ(violations(2, 0x2d, CnpScope::kQueuePair), 1u);
  EXPECT_EQ(violations(2, 0x2c, CnpScope::kAddress), 1u);
  EXPECT_EQ(violations(9, 0x2d, CnpScope::kAddress), 0u);
  EXPECT_EQ(violations(9, 0x2c, CnpScope::kPort), 1u);
}

// Lumina's rule: marked packets that are farther apart than the spacing. The client's frames 1, 3, 5 and 7
// come at 0, 6.484, 7.628 and 8.281 ms.
TEST(CnpSpacing, SaysHowManyCnpsAreToBeExpected) {
  const auto expected = [](std::int64_t spacing_ns) {
    Capture capture = Capture::fixture("vs_sizes");
    for (const std::size_t number : {1, 3, 5, 7}) mark(capture, number);
    mark(capture, 2);  // an ACK
    std::uint64_t count = 0;
    check_capture(capture, {.congestion = {.cnp_spacing_ns = spacing_ns}}, [&](const Checker& checker) {
      ASSERT_EQ(checker.notifications().spacing().senders().size(), 1u);
      count = checker.notifications().spacing().senders()[0].expected;
    });
    return count;
  };
  EXPECT_EQ(expected(50'000), 4u);
  EXPECT_EQ(expected(1'000'000), 3u);
  EXPECT_EQ(expected(7'000'000), 2u);
  EXPECT_EQ(expected(1'000'000'000), 1u);
}

TEST(Distances, AreTypicalInTheMiddle) {
  Distances distances;
  EXPECT_EQ(distances.typical(), 0);
  for (std::int64_t ns = 1000; ns >= 1; --ns) distances.add(ns);
  EXPECT_EQ(distances.least(), 1);
  EXPECT_EQ(distances.count(), 1000u);
  EXPECT_NEAR(static_cast<double>(distances.typical()), 500, 40);
  Distances one;
  one.add(7);
  EXPECT_EQ(one.typical(), 7);
}

}  // namespace
}  // namespace urnic::check::test
