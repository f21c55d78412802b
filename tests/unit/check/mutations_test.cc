// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The checker bites: each capture below is a recording of rdma_rxe with one thing spoilt, and must be found
// to break the rule of that thing, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tests/unit/check/mutation.h"

namespace urnic::check::test {
namespace {

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = [] {
    std::vector<Mutation> together = transport_mutations();
    for (const auto& more : {cm_mutations(), congestion_mutations()}) {
      together.insert(together.end(), more.begin(), more.end());
    }
    return together;
  }();
  return all;
}

std::set<std::string> violations_of(const Checker& checker) {
  std::set<std::string> names;
  for (const Finding& finding : checker.findings().kept()) {
    if (finding.severity == Severity::kViolation) names.insert(info_of(finding.rule).name);
  }
  return names;
}

std::string all_of(const Checker& checker) {
  std::string text;
  for (const Finding& finding : checker.findings().kept()) {
    text += std::string(info_of(finding.rule).name) + " expected " + finding.expected + " seen " +
            finding.seen + "\n";
  }
  return text;
}

class SpoiltCapture : public testing::TestWithParam<Mutation> {};

TEST_P(SpoiltCapture, BreaksItsOwnRuleAndNoOther) {
  const Mutation& mutation = GetParam();
  Capture capture = Capture::fixture(mutation.fixture);
  mutation.spoil(capture);
  check_capture(capture, {.congestion = mutation.congestion}, [&](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::ElementsAre(info_of(mutation.rule).name)) << all_of(checker);
  });
}

INSTANTIATE_TEST_SUITE_P(Mutations, SpoiltCapture, testing::ValuesIn(mutations()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SpoiltCaptures, AreEnough) {
  EXPECT_GE(mutations().size(), 40u);
}

TEST(SpoiltCaptures, BreakEveryRuleThereIs) {
  std::set<Rule> broken = {Rule::kCnpBecn, Rule::kCnpForm};  // below
  for (const Mutation& mutation : mutations()) broken.insert(mutation.rule);
  for (const RuleInfo& info : all_rules()) {
    EXPECT_EQ(broken.count(info.rule) == 1, info.severity == Severity::kViolation) << info.name;
  }
}

// Frames 2 to 14, the even ones, are the ACKs of SENDs.
TEST(MsnThatGoesBack, IsAViolationAlsoInACaptureThatMayHaveHoles) {
  for (const std::size_t raised : {2, 4, 6, 8, 10, 12}) {
    Capture capture = Capture::fixture("vs_sizes");
    capture.edit(raised).msn(capture.edit(raised).msn() + 1).seal();
    check_capture(capture, {.policy = {.lossy = true}}, [&](const Checker& checker) {
      EXPECT_THAT(violations_of(checker), testing::ElementsAre("msn")) << all_of(checker);
      for (const Finding& finding : checker.findings().kept()) {
        if (finding.severity == Severity::kViolation) {
          EXPECT_THAT(finding.frames, testing::ElementsAre(raised, raised + 2));
        }
      }
    });
  }
}

TEST(MsnThatGoesBack, IsAViolationAlsoInACaptureThatBeginsInTheMiddle) {
  Capture capture = Capture::fixture("vs_rnr");
  capture.edit(2).msn(1).seal();  // an RNR NAK, and frame 4 is another one for the same request
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::ElementsAre("msn")) << all_of(checker);
  });
}

// Frames 27 to 41 of vs_sizes are WRITEs: old rdma_rxe does not count them (kMsnWithoutWrites).
TEST(MsnThatGoesBack, CountsWritesWhereTheMsnWasSeenToDoSo) {
  for (const bool is_known : {false, true}) {
    Capture capture = Capture::fixture("vs_sizes");
    const std::size_t raised = is_known ? 30 : 26;
    capture.edit(raised).msn(capture.edit(raised).msn() + 1).seal();
    check_capture(capture, {.policy = {.lossy = true}}, [&](const Checker& checker) {
      EXPECT_EQ(violations_of(checker).count("msn"), is_known ? 1u : 0u) << all_of(checker);
    });
  }
}

// Linux numbers the segments of one buffer from 0, and UDP sockets send so: nothing was copied or overtaken.
TEST(IpIdentificationsOfSegments, TellNothingOfCopiesAndOrder) {
  for (const std::string name : {"vs_sizes", "vs_loss_both", "vs_loss_requests", "vs_atomics"}) {
    Capture capture = Capture::fixture(name);
    for (std::size_t number = 1; number <= capture.size(); ++number) {
      capture.edit(number).ip_byte(4, 0).ip_byte(5, number % 4).seal();
    }
    check_capture(capture, {}, [&](const Checker& checker) {
      EXPECT_THAT(violations_of(checker), testing::IsEmpty()) << name << all_of(checker);
      EXPECT_EQ(checker.findings().count_of(Rule::kNetworkCopy), 0u) << name;
      EXPECT_EQ(checker.findings().count_of(Rule::kOvertaken), 0u) << name;
    });
  }
}

// Frames 36 to 40 are a WRITE, 41 its ACK, 42 a READ, 43 its response, which the ACK counts below.
class MsnOfARead : public testing::Test {
 protected:
  void SetUp() override {
    std::swap(capture_[41], capture_[42]);
    std::swap(capture_[41].time_ns, capture_[42].time_ns);
    capture_.edit(42).msn(capture_.edit(42).msn() + 1).seal();
  }

  Capture capture_ = Capture::fixture("vs_sizes");
};

TEST_F(MsnOfARead, IsAViolationInTheAckOfAWriteBeforeIt) {
  check_capture(capture_, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::ElementsAre("msn")) << all_of(checker);
  });
}

TEST_F(MsnOfARead, IsRightWhereTheWriteWasRepeatedAsItsAckAndTheResponseGotLost) {
  for (std::size_t number = 36; number <= 41; ++number) capture_.repeat(number, number + 5);
  check_capture(capture_, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::IsEmpty()) << all_of(checker);
  });
}

// Two queue pairs of one UDP port that begin with the same PSN: frame 1 is a SEND, frame 2 its ACK.
TEST(AnswerOfSeveral, IsNotSaidToHaveNoRequest) {
  Capture capture = Capture::fixture("vs_sizes");
  capture.keep_first(2);
  Capture other = capture;
  for (const std::size_t number : {1, 2}) {
    other.edit(number).u24(5, other.edit(number).u24_at(5) + 1).new_ip_id().seal();
  }
  capture.append(other);
  std::swap(capture[2], capture[3]);  // both SENDs, then both ACKs
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_EQ(checker.findings().count_of(Rule::kAnswerOfSeveral), 2u) << all_of(checker);
    EXPECT_EQ(checker.findings().count_of(Rule::kAnswerWithoutRequest), 0u) << all_of(checker);
    EXPECT_THAT(violations_of(checker), testing::IsEmpty());
  });
}

TEST(Fecn, IsNoReservedBit) {
  Capture capture = Capture::fixture("vs_sizes");
  capture.edit(3).flip(4, 0x80).seal();
  capture.edit(5).flip(4, 0x01).seal();
  check_capture(capture, {}, [](const Checker& checker) {
    for (const auto& [rule, frame] : {std::pair(Rule::kFecn, 3u), std::pair(Rule::kReservedBits, 5u)}) {
      ASSERT_EQ(checker.findings().count_of(rule), 1u);
      for (const Finding& finding : checker.findings().kept()) {
        if (finding.rule == rule) {
          EXPECT_THAT(finding.frames, testing::ElementsAre(frame));
        }
      }
    }
  });
}

TEST(OvertakenFrames, BreakNoRule) {
  Capture capture = Capture::fixture("vs_sizes");
  // The ACK in frame 10 arrives again after the ACK in frame 14. Its own IP identification says that it was
  // overtaken.
  capture.edit(capture.repeat(10, 14)).new_ip_id().seal();
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::IsEmpty());
    EXPECT_EQ(checker.findings().count_of(Rule::kOvertaken) + checker.findings().count_of(Rule::kNetworkCopy),
              1u);
  });
}

TEST(OvertakenFrames, LeaveNoReadResponseMissing) {
  Capture capture = Capture::fixture("vs_sizes");
  std::swap(capture[55], capture[57]);
  std::swap(capture[55].time_ns, capture[57].time_ns);
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::IsEmpty());
    EXPECT_EQ(checker.findings().count_of(Rule::kNoAnswer), 0u);
  });
}

// Frame 53 asks for 4097 bytes at 0x7f4d58e5f000.
TEST(ResumedReads, MayBeAnsweredFromEachOfTheirBeginnings) {
  Capture capture = Capture::fixture("vs_sizes");
  const std::uint32_t psn = capture.edit(53).psn();
  const std::size_t second = capture.repeat(53, 58);
  capture.edit(second).psn(psn + 2).u32(16, 0x58e5f800).u32(24, 4097 - 2048).seal();
  const std::size_t third = capture.repeat(53, second);
  capture.edit(third).psn(psn + 3).u32(16, 0x58e5fc00).u32(24, 4097 - 3072).seal();
  const std::size_t answer =
      capture.repeat(54, third);  // a First, as the answer to the second request begins
  capture.edit(answer).psn(psn + 2).seal();
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::IsEmpty()) << all_of(checker);
  });
}

// Frame 2 says to wait for 10.24 ms, and frame 3 comes 15.2 ms later.
TEST(ReceiversNotReady, AreWaitedForSinceTheyFirstSaidSo) {
  Capture capture = Capture::fixture("vs_rnr");
  capture.edit(capture.repeat(2, 2, 10'000'000)).new_ip_id().seal();
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_EQ(checker.findings().count_of(Rule::kRnrEarly), 0u) << all_of(checker);
  });
}

/// vs_sizes as XRC would have sent it: other opcodes, and four bytes more after the BTH of requests.
Capture xrc_sizes() {
  constexpr std::uint8_t kXrc = 0xa0;
  Capture capture = Capture::fixture("vs_sizes");
  for (std::size_t number = 1; number <= capture.size(); ++number) {
    FrameEdit edit = capture.edit(number);
    const bool is_response = edit.opcode() >= 0x0d && edit.opcode() <= 0x12;
    edit.opcode(edit.opcode() | kXrc).insert(12, is_response ? 0 : 4).seal();
  }
  return capture;
}

TEST(Xrc, IsFollowedLikeRc) {
  check_capture(xrc_sizes(), {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::IsEmpty()) << all_of(checker);
    const ExchangeCounts& counts = checker.connections().flows().at(0).direction->exchange.counts;
    EXPECT_EQ(counts.sends, 10u);
    EXPECT_EQ(counts.writes, 5u);
    EXPECT_EQ(counts.reads, 6u);
  });
}

TEST(Xrc, IsJudgedLikeRc) {
  Capture capture = xrc_sizes();
  capture.edit(14).msn(9).seal();
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_THAT(violations_of(checker), testing::ElementsAre("msn"));
  });
}

// No recording of rdma_rxe has a CNP. The one put together for the fuzz corpus has AckReq and a PSN, as none
// should.
Capture cnp() {
  Capture capture = Capture::frame_in(fixtures().parent_path() / "tests/fuzz/corpus/frame/made_cnp.bin");
  capture.edit(1).psn(0).ack_request(false).seal();
  return capture;
}

void expect_of_cnp(const std::function<void(FrameEdit)>& spoil, std::set<std::string> rules) {
  Capture capture = cnp();
  spoil(capture.edit(1));
  check_capture(capture, {}, [&](const Checker& checker) {
    EXPECT_EQ(checker.counts().cnps, 1u);
    EXPECT_EQ(violations_of(checker), rules) << all_of(checker);
  });
}

TEST(Cnp, BreaksNoRuleWhenItIsWellFormed) {
  expect_of_cnp([](FrameEdit) {}, {});
}

TEST(Cnp, NeedsBecn) {
  expect_of_cnp([](FrameEdit edit) { edit.byte(4, 0).seal(); }, {"cnp-becn"});
}

TEST(Cnp, HasPsnZero) {
  expect_of_cnp([](FrameEdit edit) { edit.psn(1).seal(); }, {"cnp-form"});
}

TEST(Cnp, DoesNotAskForAnAcknowledgement) {
  expect_of_cnp([](FrameEdit edit) { edit.ack_request(true).seal(); }, {"cnp-form"});
}

TEST(Cnp, CarriesZeros) {
  expect_of_cnp([](FrameEdit edit) { edit.byte(20, 9).seal(); }, {"cnp-form"});
}

TEST(Cnp, CarriesSixteenBytes) {
  expect_of_cnp([](FrameEdit edit) { edit.resize(-4).seal(); }, {"cnp-form"});
}

// ConnectX sends MigReq 1, but 0 in CNPs (fact 49), and the first packet of a receiver of WRITEs may be one.
TEST(Cnp, SaysNothingAboutTheMigReqOfItsSender) {
  Capture capture = Capture::fixture("vs_sizes");
  const std::size_t count = capture.size();
  for (std::size_t number = 1; number <= count; ++number) capture.edit(number).flip(1, 0x40).seal();
  const std::size_t number = capture.repeat(2, 1);  // frame 2 is the first ACK
  capture.edit(number)
      .opcode(0x81)
      .byte(1, 0)
      .byte(4, 0x40)
      .ack_request(false)
      .psn(0)
      .u32(12, 0)
      .resize(12)
      .new_ip_id()
      .seal();
  check_capture(capture, {}, [](const Checker& checker) {
    EXPECT_EQ(checker.counts().cnps, 1u);
    EXPECT_THAT(violations_of(checker), testing::IsEmpty()) << all_of(checker);
  });
}

}  // namespace
}  // namespace urnic::check::test
