// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What two connection managers say to each other, judged beyond the rules that mutations_test breaks: what is
// no violation, what a capture cannot tell, and what the messages say of packets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/check/mutation.h"
#include "tools/conformance/check/cm/dialogs.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// "rule: seen" of every finding that is no habit.
std::vector<std::string> findings_in(const Capture& capture, const CheckOptions& options = {}) {
  std::vector<std::string> texts;
  check_capture(capture, options, [&](const Checker& checker) {
    for (const Finding& finding : checker.findings().kept()) {
      if (finding.severity == Severity::kHabit) continue;
      texts.push_back(std::string(to_string(finding.severity)) + " " + info_of(finding.rule).name + ": " +
                      finding.seen);
    }
  });
  return texts;
}

TEST(CmDialog, MayRepeatWhatWasNotAnsweredInTime) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 1, 1, kPromised);
  EXPECT_THAT(findings_in(capture), ElementsAre("event cm-repetition: CM REQ again after 4.300 s"));
}

// Linux's timers say 4.096 s where REQ says 4.295 s.
TEST(CmDialog, MayReckonInMillisecondsThatAreTooShort) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 1, 1, 4'096'000'000);
  EXPECT_THAT(findings_in(capture), ElementsAre(HasSubstr("event cm-repetition")));
}

// IPv6 has no identification to know copies by.
TEST(CmDialog, HasNotSaidAgainWhatTheNetworkDeliveredTwice) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.repeat(1, 1);
  capture.repeat(42, 42);
  EXPECT_THAT(findings_in(capture), ElementsAre("event network-copy: CM REQ once more, with the same PSN",
                                                "event network-copy: CM DREP once more, with the same PSN"));
}

TEST(CmDialog, MayAnswerARepeatedRequestAtOnce) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 1, 2, kPromised);
  say_again(capture, 2, 3, 1'000'000);
  EXPECT_THAT(findings_in(capture),
              ElementsAre(HasSubstr("CM REQ again after 4.3"), HasSubstr("CM REP again after 4.301 s")));
}

// The REP's timer began with the first REP; an answer to a repeated REQ does not restart it.
TEST(CmDialog, MayRepeatTheReplySoonAfterItHasAnsweredAgain) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 1, 2, kPromised);
  say_again(capture, 2, 3, 1'000'000);
  say_again(capture, 2, 4, 30'000'000);
  EXPECT_THAT(findings_in(capture),
              ElementsAre(HasSubstr("CM REQ again"), HasSubstr("CM REP again after 4.301"),
                          HasSubstr("event cm-repetition: CM REP again after 0.030 s")));
}

TEST(CmDialog, MayAnswerARepeatedRequestBetweenRepetitionsOfTheReply) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 2, 2, kPromised);
  say_again(capture, 1, 3, kSecond);
  say_again(capture, 2, 4, 1'000'000);
  say_again(capture, 2, 5, kPromised - kSecond);
  const auto is_repeated = HasSubstr("event cm-repetition: CM REP again");
  EXPECT_THAT(findings_in(capture),
              ElementsAre(is_repeated, HasSubstr("CM REQ again"), is_repeated, is_repeated));
}

// The first REP may have been lost before the place of capture: the capture does not tell when it was sent.
TEST(CmDialog, MayRepeatAReplySoonThatAnsweredARepeatedRequest) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 1, 1, kPromised);
  for (std::size_t number = 3; number < 6; ++number) say_again(capture, 3, number, 2 * kSecond);
  const auto is_repeated = HasSubstr("event cm-repetition: CM REP again after 2");
  EXPECT_THAT(findings_in(capture), ElementsAre(HasSubstr("CM REQ again"), is_repeated, is_repeated,
                                                is_repeated, HasSubstr("cm-repeat-early: 2.000 s")));
}

// Linux answers a copy of a REQ as it answers a repetition.
TEST(CmDialog, MayAnswerEachCopyOfARequest) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.repeat(1, 1);
  say_again(capture, 3, 3, 1'000);
  EXPECT_THAT(findings_in(capture),
              ElementsAre(HasSubstr("network-copy"), HasSubstr("event cm-repetition: CM REP again")));
}

TEST(CmDialog, MayAnswerRepeatedMessagesAgain) {
  Capture capture = Capture::fixture("rping_ipv6");
  say_again(capture, 2, 3, kPromised);
  say_again(capture, 3, 4, 1'000'000);
  EXPECT_THAT(findings_in(capture),
              ElementsAre(HasSubstr("CM REP again"), "event cm-repetition: CM RTU again after 4.301 s"));
}

TEST(CmDialog, IsOverWithTheRejSoThatItsIdMayBeUsedAgain) {
  Capture capture = Capture::fixture("cm_reject");
  const auto again = say_again(capture, 1, 2, kSecond);
  capture.edit(again).flip(kCmAt + 46, 1).flip(kMadAt + 9, 1).seal();
  EXPECT_THAT(findings_in(capture), IsEmpty());
}

// A host that has started over may use an ID again. It breaks a rule for that, and its peer does not.
TEST(CmDialog, MayAnswerTheSecondOfTwoRequestsWithOneId) {
  Capture capture = Capture::fixture("cm_reject");
  const auto second = say_again(capture, 1, 1, kPromised);
  capture.edit(second).flip(kCmAt + 46, 1).flip(kMadAt + 9, 1).seal();
  capture.edit(second + 1).flip(kMadAt + 9, 1).seal();
  EXPECT_THAT(findings_in(capture), ElementsAre("event cm-repetition: CM REQ again after 4.300 s",
                                                "violation cm-duplicate-differs: other contents"));
}

TEST(CmDialog, HasTheHabitOfLinuxThatARejNamesItsSender) {
  Capture capture = Capture::fixture("cm_reject");
  capture.edit(2).byte(kCmAt + 3, 5).seal();
  EXPECT_THAT(findings_in(capture), IsEmpty());
  EXPECT_THAT(findings_in(capture, {.policy = {.makers = Makers::kConnectX}}),
              Not(Contains(HasSubstr("cm-reject-id"))));
  EXPECT_THAT(findings_in(capture, {.policy = {.makers = Makers::kFpga}}),
              Contains(HasSubstr("violation cm-reject-id: 0x5")));
}

// A lost REJ makes the active side repeat its REQ.
TEST(CmDialog, MayRepeatARequestThatWasRejected) {
  Capture capture = Capture::fixture("cm_reject");
  say_again(capture, 1, 2, kPromised);
  EXPECT_THAT(findings_in(capture), ElementsAre(HasSubstr("event cm-repetition: CM REQ again")));
}

TEST(CmDialog, WaitsForAnAnswerAsLongAsThePeerMayTake) {
  for (const std::int64_t silence : {kSecond, 5 * kSecond}) {
    Capture capture = Capture::fixture("rping_ipv6");
    capture.keep_first(1);
    Capture other = Capture::fixture("vs_ud");
    other.keep_first(1);
    other[1].time_ns = capture[1].time_ns + silence;
    capture.append(other);
    if (silence < kPromised) {
      EXPECT_THAT(findings_in(capture), IsEmpty());
    } else {
      EXPECT_THAT(findings_in(capture), ElementsAre("unknown cm-no-answer: none in 5.000 s"));
    }
  }
}

// The RTU or the DREP was lost, before the place of capture or after it.
TEST(CmDialog, AsksForTheAnswerAgainWhenItWasLost) {
  for (const auto& [asks, last, note] : {std::tuple(2u, 3u, "cm-no-answer: none in 5.000 s"),
                                         std::tuple(40u, 41u, "cm-no-answer: none in 5.000 s")}) {
    Capture capture = Capture::fixture("rping_ipv6");
    capture.keep_first(last);
    const auto again = say_again(capture, asks, last, kPromised);
    Capture other = Capture::fixture("vs_ud");
    other.keep_first(1);
    other[1].time_ns = capture[again].time_ns + 5 * kSecond;
    Capture unanswered = capture;
    unanswered.append(other);
    EXPECT_THAT(findings_in(unanswered), ElementsAre(HasSubstr("event cm-repetition"), HasSubstr(note)));
    say_again(capture, last, again, kSecond / 10);
    capture.append(other);
    EXPECT_THAT(findings_in(capture),
                ElementsAre(HasSubstr("event cm-repetition"), HasSubstr("event cm-repetition")));
  }
}

/// rping_ipv6's REQ, its REP made an MRA that asks for 2^`code` * 4.096 us, and a frame 10 s later.
Capture asked_to_wait(std::uint8_t code) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.keep_first(2);
  capture.edit(2).byte(kMadAt + 17, 0x11).u32(kCmAt + 8, static_cast<std::uint32_t>(code) << 19).seal();
  Capture other = Capture::fixture("vs_ud");
  other.keep_first(1);
  other[1].time_ns = capture[2].time_ns + 10 * kSecond;
  capture.append(other);
  return capture;
}

TEST(CmDialog, WaitsAsLongAsAnMraAsksFor) {
  EXPECT_THAT(findings_in(asked_to_wait(20)), ElementsAre(HasSubstr("unknown cm-no-answer")));
  EXPECT_THAT(findings_in(asked_to_wait(22)), IsEmpty());
}

TEST(CmDialog, IsNotKnownFromAnswersAlone) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.erase(1);
  EXPECT_THAT(findings_in(capture), ElementsAre("unknown cm-unseen: CM REP to nothing in the capture",
                                                "unknown cm-unseen: CM RTU to nothing in the capture",
                                                "unknown cm-unseen: CM DREP to nothing in the capture"));
}

TEST(CmDialog, OfOneSideProvesNothing) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.erase(41);
  capture.erase(2);
  EXPECT_THAT(findings_in(capture), ElementsAre(HasSubstr("unknown cm-rtu-without-rep")));
}

TEST(CmDialogs, AreBounded) {
  Findings findings({});
  CmDialogs dialogs(findings);
  const Capture capture = Capture::fixture("cm_reject");
  Capture first = capture;
  const auto frame = parse_frame(LinkType::kEthernet, first[1].bytes);
  ASSERT_TRUE(frame);
  const Packet packet = parse_packet(*frame);
  auto request = parse_cm(packet);
  ASSERT_TRUE(request);
  const Seen seen{.frame = *frame, .packet = packet, .number = 1};
  for (std::uint32_t id = 0; id <= CmDialogs::kMaxDialogs; ++id) {
    request->local_id = id;
    request->transaction = id;
    dialogs.on_message(*request, seen, 0);
  }
  // The oldest one is forgotten: another REQ with its ID is no repetition. The newest is not.
  request->digest += 1;
  request->local_id = CmDialogs::kMaxDialogs;
  dialogs.on_message(*request, seen, 0);
  EXPECT_EQ(findings.count_of(Rule::kCmDuplicateDiffers), 1u);
  request->local_id = 0;
  dialogs.on_message(*request, seen, 0);
  EXPECT_EQ(findings.count_of(Rule::kCmDuplicateDiffers), 1u);
}

TEST(AgreedLimits, ComeFromReqAndRep) {
  check_capture(Capture::fixture("rping_ipv6"), {}, [](const Checker& checker) {
    std::size_t agreed = 0;
    for (const Flow& flow : checker.connections().flows()) {
      if (!flow.direction) continue;
      ASSERT_NE(flow.direction->agreed, nullptr);
      const AgreedLimits& limits = flow.direction->agreed->flow.limits;
      EXPECT_EQ(limits.ack_timeout_ns, 4096ll << 19);  // tshark: local ACK timeout 0x13
      EXPECT_EQ(limits.retry_count, 7);
      EXPECT_EQ(limits.rnr_retry, 7);
      EXPECT_EQ(limits.max_reads, 1);
      ++agreed;
    }
    EXPECT_EQ(agreed, 2u);
  });
}

TEST(AgreedLimits, TellAnEndOfTriesFromAnEndOfTheCapture) {
  for (const unsigned retries : {1u, 2u}) {
    Capture capture = Capture::fixture("rping_ipv6");
    capture.edit(1).byte(kCmAt + 47, static_cast<std::uint8_t>(0xa0 | retries)).seal();
    capture.keep_first(4);
    capture.repeat(4, 4, kSecond);
    EXPECT_THAT(findings_in(capture),
                ElementsAre(HasSubstr("event repetition"),
                            retries == 1 ? "event gave-up: PSN 1671758: 2 transmissions, and no answer"
                                         : "unknown no-answer: 2 transmissions without"));
  }
}

// rdma_rxe takes 7 for infinite (fact 37).
TEST(AgreedLimits, DoNotEndSevenRetries) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.keep_first(4);
  for (std::size_t number = 4; number < 20; ++number) capture.repeat(4, number, kSecond);
  for (const std::string& text : findings_in(capture)) {
    EXPECT_THAT(text, testing::Not(HasSubstr("retry-count")));
  }
}

// Nothing was sent before the first PSN that REQ and REP name: what follows is sure from the first packet on.
TEST(FirstPsn, MakesTheFirstAnswersCertain) {
  Capture capture = Capture::fixture("rping_ipv6");
  capture.keep_first(5);
  capture.edit(5).syndrome(0x60).seal();  // a NAK of what was sent last
  EXPECT_THAT(findings_in(capture), testing::Contains(HasSubstr("violation nak-without-gap")));
}

}  // namespace
}  // namespace urnic::check::test
