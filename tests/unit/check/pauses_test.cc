// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Traffic in spite of a pause, on a link of 100 Gb/s: a quantum is 5.12 ns, 0xffff of them are 335.5 us, and
// what may be under way is 10 us and a frame of 741 ns.
#include "tools/conformance/check/congestion/pauses.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/check/congestion_frames.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check::test {
namespace {

constexpr Mac kHost = {{0x02, 0, 0, 0, 0, 1}};
constexpr Mac kOther = {{0x02, 0, 0, 0, 0, 2}};
constexpr Mac kThird = {{0x02, 0, 0, 0, 0, 3}};
constexpr Mac kPausingSwitch = {{0x02, 0xff, 0, 0, 0, 9}};
constexpr std::uint16_t kLong = 0xffff;

/// Frames at times in nanoseconds.
class Link {
 public:
  Link& pause(const Mac& from, std::int64_t ns, std::uint16_t quanta, unsigned priority = 3) {
    return add(pause_frame(from, {{priority, quanta}}, ns));
  }
  Link& pause_all(const Mac& from, std::int64_t ns, std::uint16_t quanta) {
    return add(pause_of_all(from, quanta, ns));
  }
  Link& data(const Mac& from, const Mac& to, std::int64_t ns, std::uint8_t dscp = 26) {
    return add(frame_of({.from = from, .to = to, .dscp = dscp, .time_ns = ns, .number = ++number_}));
  }

  struct Judgement {
    std::uint64_t ignored = 0;
    std::uint64_t unclear = 0;
    std::uint64_t violations = 0;
    std::vector<std::uint64_t> frames{};  ///< of the first finding of the two rules
    std::string seen{};
    std::vector<Pauser> pausers{};
    std::uint64_t others = 0;
  };
  Judgement judge(const CheckOptions& options = {.congestion = {.link_rate_bps = 100e9}}) const {
    Judgement judgement;
    check_capture(Capture(frames_), options, [&](const Checker& checker) {
      judgement.ignored = checker.findings().count_of(Rule::kPauseIgnored);
      judgement.unclear = checker.findings().count_of(Rule::kPauseUnclear);
      judgement.violations = checker.findings().count_of(Severity::kViolation);
      for (const Finding& finding : checker.findings().kept()) {
        if (judgement.frames.empty() &&
            (finding.rule == Rule::kPauseIgnored || finding.rule == Rule::kPauseUnclear)) {
          judgement.frames = finding.frames;
          judgement.seen = finding.seen;
        }
      }
      judgement.pausers.assign(checker.pauses().pausers().begin(), checker.pauses().pausers().end());
      judgement.others = checker.pauses().others();
      EXPECT_FALSE(text_report("link", checker, "", false).empty());
    });
    return judgement;
  }

 private:
  Link& add(CapturedFrame frame) {
    frames_.push_back(std::move(frame));
    return *this;
  }
  std::vector<CapturedFrame> frames_;
  std::uint32_t number_ = 0;
};

CheckOptions with_host(std::vector<Mac> addresses) {
  return {.congestion = {.link_rate_bps = 100e9, .link_host = std::move(addresses)}};
}

/// A link of kHost, which is known because it speaks with two.
Link host_with_two_peers() {
  Link link;
  link.data(kHost, kOther, -2'000'000).data(kThird, kHost, -1'900'000);
  return link;
}

TEST(Pauses, AreCountedByPriorityAndSender) {
  Link link;
  link.pause(kPausingSwitch, 0, kLong)
      .pause(kPausingSwitch, 1000, 0)
      .pause(kPausingSwitch, 2000, 7, 6)
      .pause_all(kHost, 3000, 5)
      .pause_all(kHost, 4000, 0);
  const auto judgement = link.judge({});
  ASSERT_EQ(judgement.pausers.size(), 2u);
  EXPECT_EQ(judgement.pausers[0].mac, kPausingSwitch);
  EXPECT_EQ(judgement.pausers[0].counts[3].xoff, 1u);
  EXPECT_EQ(judgement.pausers[0].counts[3].xon, 1u);
  EXPECT_EQ(judgement.pausers[0].counts[6].xoff, 1u);
  EXPECT_EQ(judgement.pausers[0].counts[6].xon, 0u);
  EXPECT_EQ(judgement.pausers[1].counts[Pauser::kAll].xoff, 1u);
  EXPECT_EQ(judgement.pausers[1].counts[Pauser::kAll].xon, 1u);
}

TEST(Pauses, LastUntilXonOrTheEndOfTheirQuanta) {
  Link link;
  link.pause(kPausingSwitch, 0, kLong).pause(kPausingSwitch, 40'000, 0);         // 40 us
  link.pause(kPausingSwitch, 50'000, 1000).pause(kPausingSwitch, 52'000, 1000);  // 2 us and 5.12 us
  link.pause(kPausingSwitch, 100'000, kLong).data(kHost, kOther, 110'000);       // to the end of the capture
  EXPECT_EQ(link.judge().pausers.at(0).counts[3].paused_ns, 40'000 + 7'120 + 10'000);
  EXPECT_EQ(link.judge({}).pausers.at(0).counts[3].paused_ns, 0);
}

TEST(Pauses, AreNotJudgedWithoutALinkRate) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, 100'000);
  EXPECT_EQ(link.judge({}).ignored, 0u);
  const auto judged = link.judge();
  EXPECT_EQ(judged.ignored, 1u);
  EXPECT_EQ(judged.violations, 1u);
  EXPECT_EQ(judged.frames, (std::vector<std::uint64_t>{3, 4}));
}

TEST(Pauses, LeaveWhatIsUnderWay) {
  for (const auto& [ns, ignored] : {std::pair(10'700, 0u), std::pair(10'800, 1u)}) {
    Link link = host_with_two_peers();
    link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, 500).data(kHost, kOther, ns);
    EXPECT_EQ(link.judge().ignored, ignored) << ns;
  }
}

TEST(Pauses, LeaveMoreOnASlowerLink) {
  // 1 Gb/s: a frame of 74 us, a pause of 33 ms.
  for (const auto& [ns, ignored] : {std::pair(84'000, 0u), std::pair(85'000, 1u)}) {
    Link link = host_with_two_peers();
    link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, ns);
    EXPECT_EQ(link.judge({.congestion = {.link_rate_bps = 1e9}}).ignored, ignored) << ns;
  }
}

TEST(Pauses, EndByThemselves) {
  for (const auto& [ns, ignored] : {std::pair(334'000, 1u), std::pair(336'000, 0u)}) {
    Link link = host_with_two_peers();
    link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, ns);
    EXPECT_EQ(link.judge().ignored, ignored) << ns;
  }
}

TEST(Pauses, EndByXon) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong)
      .pause(kPausingSwitch, 50'000, 0)
      .data(kHost, kOther, 50'100)
      .data(kHost, kOther, 90'000);
  EXPECT_EQ(link.judge().violations, 0u);
}

TEST(Pauses, ThatAreRefreshedGoOnWithoutANewPatience) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong).pause(kPausingSwitch, 167'000, kLong).data(kHost, kOther, 168'000);
  EXPECT_EQ(link.judge().frames, (std::vector<std::uint64_t>{3, 5}));
  for (const auto& [ns, ignored] : {std::pair(400'000, 1u), std::pair(503'000, 0u)}) {
    Link later = host_with_two_peers();
    later.pause(kPausingSwitch, 0, kLong).pause(kPausingSwitch, 167'000, kLong).data(kHost, kOther, ns);
    EXPECT_EQ(later.judge().ignored, ignored) << ns;
  }
}

TEST(Pauses, ThatBeginAnewBeginWithANewPatience) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong).pause(kPausingSwitch, 400'000, kLong).data(kHost, kOther, 405'000);
  EXPECT_EQ(link.judge().violations, 0u);
}

TEST(Pauses, AreOfTheirPriority) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong, 3).data(kHost, kOther, 100'000, 48).data(kHost, kOther, 110'000, 0);
  EXPECT_EQ(link.judge().violations, 0u);
  link.data(kHost, kOther, 120'000, 3);
  EXPECT_EQ(link.judge().frames, (std::vector<std::uint64_t>{3, 6}));
}

TEST(Pauses, OfAllAreOfEveryPriority) {
  for (const std::uint8_t dscp : std::initializer_list<std::uint8_t>{0, 26, 48}) {
    Link link = host_with_two_peers();
    link.pause_all(kPausingSwitch, 0, kLong).data(kHost, kOther, 100'000, dscp);
    EXPECT_EQ(link.judge().ignored, 1u) << int{dscp};
  }
}

TEST(Pauses, StopThePeerAlone) {
  Link of_switch = host_with_two_peers();
  of_switch.pause(kPausingSwitch, 0, kLong).data(kOther, kHost, 100'000);  // which the switch itself sends
  EXPECT_EQ(of_switch.judge().violations, 0u);
  Link of_host = host_with_two_peers();
  of_host.pause(kHost, 0, kLong).data(kHost, kOther, 100'000);
  EXPECT_EQ(of_host.judge().violations, 0u);
  of_host.data(kOther, kHost, 110'000).data(kThird, kHost, 120'000);
  EXPECT_EQ(of_host.judge().frames, (std::vector<std::uint64_t>{3, 5}));
  EXPECT_EQ(of_host.judge().seen.substr(0, 39), "2 frames, up to 120.000 us after an XOF");
}

TEST(Pauses, OfARouterStopWhatIsSentToIt) {
  Link link;
  link.data(kHost, kPausingSwitch, 0).pause(kPausingSwitch, 1000, kLong).data(kPausingSwitch, kHost, 100'000);
  EXPECT_EQ(link.judge().violations, 0u);
  link.data(kHost, kPausingSwitch, 110'000);
  EXPECT_EQ(link.judge().ignored, 1u);
}

// Two hosts, and a switch's pause frame: the link may belong to either host.
TEST(Pauses, AreUnclearWhereTwoHostsMayBeTheOneOfTheLink) {
  Link link;
  link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, 100'000);
  const auto judgement = link.judge();
  EXPECT_EQ(judgement.violations, 0u);
  EXPECT_EQ(judgement.unclear, 1u);
  EXPECT_NE(judgement.seen.find("--link-host"), std::string::npos) << judgement.seen;
  EXPECT_EQ(link.judge(with_host({kHost})).ignored, 1u);
  const auto of_other = link.judge(with_host({kOther}));
  EXPECT_EQ(of_other.ignored + of_other.unclear, 0u);
}

// A virtual function has another address than the port, whose pause frames they are.
TEST(Pauses, OfAHostMayHaveAnotherAddressThanItsFrames) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, 100'000);
  EXPECT_EQ(link.judge(with_host({kHost})).ignored, 1u);
  EXPECT_EQ(link.judge(with_host({kHost, kPausingSwitch})).ignored, 0u);
  link.data(kOther, kHost, 110'000);
  EXPECT_EQ(link.judge(with_host({kHost, kPausingSwitch})).frames, (std::vector<std::uint64_t>{3, 5}));
}

TEST(Pauses, BecomeClearByLaterFrames) {
  Link link;
  link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, 100'000);
  Link of_host = link;
  of_host.data(kHost, kThird, 900'000);
  EXPECT_EQ(of_host.judge().ignored, 1u);
  Link of_other = link;
  of_other.data(kThird, kOther, 900'000);
  EXPECT_EQ(of_other.judge().ignored + of_other.judge().unclear, 0u);
}

TEST(Pauses, BetweenSwitchesAreNotJudged) {
  Link link = host_with_two_peers();
  link.data(kThird, kOther, 0).pause(kPausingSwitch, 1000, kLong).data(kHost, kOther, 100'000);
  EXPECT_EQ(link.judge().violations + link.judge().unclear, 0u);
}

TEST(Pauses, OfThreeAreOfSeveralLinks) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong)
      .data(kHost, kOther, 100'000)
      .pause(kThird, 110'000, kLong)
      .pause(kOther, 120'000, kLong);
  const auto judgement = link.judge();
  EXPECT_EQ(judgement.others, 1u);
  EXPECT_EQ(judgement.violations, 0u);
  EXPECT_EQ(judgement.unclear, 1u);
}

TEST(Pauses, ProveNothingInACaptureThatMayLackXon) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 0, kLong).data(kHost, kOther, 100'000);
  const auto judgement = link.judge({.policy = {.lossy = true}, .congestion = {.link_rate_bps = 100e9}});
  EXPECT_EQ(judgement.ignored, 1u);
  EXPECT_EQ(judgement.violations, 0u);
}

TEST(Pauses, BearTimesThatGoBack) {
  Link link = host_with_two_peers();
  link.pause(kPausingSwitch, 1'000'000, kLong).data(kHost, kOther, 100'000).pause(kPausingSwitch, 0, 0);
  EXPECT_EQ(link.judge().violations, 0u);
  EXPECT_EQ(link.judge().pausers.at(0).counts[3].paused_ns, 0);
}

}  // namespace
}  // namespace urnic::check::test
