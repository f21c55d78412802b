// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/bench/bench_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/value_of.h"
#include "tests/unit/drivers/bench/played_bench.h"

namespace urnic::drivers::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using transport::kNever;

/// The latency of the link; a step without events is one nanosecond less.
constexpr std::int64_t kLatencyNs = 500;
constexpr std::uint64_t kLatencyPs = 500'000;
constexpr std::uint64_t kSecondPs = 1'000'000'000'000;
constexpr std::uint16_t kMtu = 1500;

class BenchLinkTest : public ::testing::Test {
 protected:
  BenchLinkTest() {
    bench_.send(Written::hello(kLatencyPs));
    link_ = urnic::test::value_of(BenchLink::over(bench_.take_link_end(), "b", config(), clock_));
    hello_ = bench_.read();
  }

  BenchLink::Config config() {
    return {.own = {.mac = {{2, 0, 0, 0, 0, 1}}, .link_mtu = kMtu, .ipv4 = {{10, 0, 0, 1}}},
            .tell = [this](const std::string& line) { told_.push_back(line); }};
  }

  std::int64_t now() const { return clock_.on_wire().count(); }
  transport::Time at(std::int64_t on_wire_ns) const {
    return clock_.now() + (transport::Duration(on_wire_ns) - clock_.on_wire());
  }
  /// The first byte after the header of each frame that has arrived.
  std::vector<int> received() {
    std::array<nic::ReceivedFrame, 8> frames;
    const std::size_t count = link_->receive(frames);
    std::vector<int> marks;
    for (const auto& frame : std::span(frames).first(count)) marks.push_back(std::to_integer<int>(frame[14]));
    return marks;
  }
  static Bytes frame(std::uint8_t mark, std::size_t bytes = 60) {
    Bytes made(bytes);
    made[14] = mark;
    return made;
  }
  bool commit(std::uint8_t mark, std::size_t length) {
    const auto room = link_->reserve();
    if (room.empty()) return false;
    std::memset(room.data(), 0xff, room.size());
    std::memcpy(room.data(), frame(mark, length).data(), length);
    return link_->commit(length);
  }

  PlayedBench bench_;
  nic::GrantedClock clock_;
  std::vector<std::string> told_;
  std::unique_ptr<BenchLink> link_;
  Bytes hello_;
};

TEST_F(BenchLinkTest, SaysWhoItIsAndLeavesTheLatencyToTheBench) {
  const Bytes expected{1, 0, 0, 0, 1, 0, 0,    0, 0,  0, 0, 0, 0, 0, 0, 0,
                       2, 0, 0, 0, 0, 1, 0xdc, 5, 10, 0, 0, 1, 0, 0, 0, 0};
  EXPECT_EQ(hello_, expected);
  EXPECT_EQ(link_->max_frame_bytes(), 1514u);
}

TEST_F(BenchLinkTest, StepsByALatencyLessANanosecondWhereNothingHappens) {
  bench_.send(Written::grant(kSecondPs));
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), kLatencyNs - 1);
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), 2 * (kLatencyNs - 1));
}

TEST_F(BenchLinkTest, GrantsTheTimeThatItIsAtAndTheLatency) {
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_THAT(bench_.read_until_grant((499 + 500) * 1000), IsEmpty());
  EXPECT_THAT(bench_.read(), IsEmpty());
}

TEST_F(BenchLinkTest, StandsUntilTheBenchHasGrantedMoreThanTheTarget) {
  EXPECT_TRUE(link_->step(kNever));
  bench_.send(Written::grant(998'000));
  EXPECT_FALSE(link_->step(kNever)) << "a frame may still arrive at 998 ns";
  EXPECT_EQ(now(), 499);
  bench_.send(Written::grant(998'001));
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), 998);
}

TEST_F(BenchLinkTest, StopsWhereSomethingIsDue) {
  bench_.send(Written::grant(kSecondPs));
  EXPECT_TRUE(link_->step(at(100)));
  EXPECT_EQ(now(), 100);
  EXPECT_TRUE(link_->step(at(50)));
  EXPECT_EQ(now(), 101) << "time goes on where the engine has nothing more to do";
}

TEST_F(BenchLinkTest, StopsWhereAFrameArrivesAndNotBefore) {
  bench_.send(Written::frame(600'001, frame(7)));
  bench_.send(Written::grant(kSecondPs));
  EXPECT_THAT(received(), IsEmpty());
  EXPECT_TRUE(link_->step(at(200)));
  EXPECT_EQ(now(), 200);
  EXPECT_THAT(received(), IsEmpty());
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), 601);
  EXPECT_THAT(received(), ElementsAre(7));
}

TEST_F(BenchLinkTest, WaitsForAllFramesOfOneTime) {
  bench_.send(Written::frame(600'000, frame(1)));
  EXPECT_TRUE(link_->step(kNever)) << "the latency is granted from the beginning";
  EXPECT_EQ(now(), 499);
  bench_.send(Written::frame(600'000, frame(2)));
  EXPECT_FALSE(link_->step(kNever));
  EXPECT_EQ(now(), 499);
  bench_.send(Written::frame(600'000, frame(3)));
  bench_.send(Written::grant(600'001));
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), 600);
  EXPECT_THAT(received(), ElementsAre(1, 2, 3));
}

TEST_F(BenchLinkTest, DoesNotPassFramesThatWaitForTheEngine) {
  bench_.send(Written::frame(600'000, frame(1)));
  bench_.send(Written::grant(kSecondPs));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), 600);
  EXPECT_TRUE(link_->has_arrivals());
  EXPECT_THAT(received(), ElementsAre(1));
  EXPECT_FALSE(link_->has_arrivals());
}

TEST_F(BenchLinkTest, SendsAFrameThatArrivesALatencyLaterAndThenTheGrant) {
  bench_.send(Written::grant(kSecondPs));
  EXPECT_TRUE(link_->step(at(100)));
  EXPECT_TRUE(commit(9, 20));
  EXPECT_FALSE(link_->is_drained());
  EXPECT_TRUE(link_->step(at(130)));
  EXPECT_TRUE(link_->is_drained());
  const auto before = bench_.read_until_grant(630'000);
  EXPECT_THAT(before, ElementsAre(Written::grant(600'000), Written::frame(600'000, frame(9, 60))))
      << "with zeros up to 60 bytes";
}

TEST_F(BenchLinkTest, FlushesWithoutTime) {
  EXPECT_TRUE(commit(9, 70));
  link_->flush();
  EXPECT_EQ(bench_.read(), Written::frame(kLatencyPs, frame(9, 70)));
}

TEST_F(BenchLinkTest, SendsWhatWasWrittenWhileTimeWentOn) {
  bench_.send(Written::grant(kSecondPs));
  EXPECT_TRUE(commit(1, 60));
  const auto room = link_->reserve();
  std::memcpy(room.data(), frame(2, 70).data(), 70);
  EXPECT_TRUE(link_->step(at(100))) << "another thread's";
  EXPECT_TRUE(link_->commit(70));
  link_->flush();
  EXPECT_EQ(bench_.read(), Written::frame(500'000, frame(1)));
  EXPECT_EQ(bench_.read(), Written::grant(600'000));
  EXPECT_EQ(bench_.read(), Written::frame(600'000, frame(2, 70)));
}

TEST_F(BenchLinkTest, HasRoomForSoManyFramesAtOneTime) {
  for (std::size_t i = 0; i < BenchLink::kFramesAtOnce; ++i) EXPECT_TRUE(commit(1, 60)) << i;
  EXPECT_TRUE(link_->reserve().empty());
  // What the socket does not take at once must leave before time goes on.
  for (int i = 0; i < 100 && !link_->is_drained(); ++i) {
    while (!bench_.read().empty()) {
    }
    link_->flush();
  }
  EXPECT_TRUE(link_->reserve().empty()) << "whether it has left makes no difference";
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_FALSE(link_->reserve().empty());
}

TEST_F(BenchLinkTest, FollowsNobodyWhereNothingIsUnderWay) {
  bench_.send(Written::grant(kLatencyPs));
  EXPECT_FALSE(link_->follow(kNever));
  EXPECT_EQ(now(), 0);
}

TEST_F(BenchLinkTest, FollowsThePeerAndNoFurther) {
  bench_.send(Written::grant(kLatencyPs + 120'500));
  EXPECT_TRUE(link_->follow(kNever));
  EXPECT_EQ(now(), 121);
  EXPECT_FALSE(link_->follow(kNever));
  EXPECT_EQ(now(), 121);
}

TEST_F(BenchLinkTest, FollowsWhatIsDueAndFrames) {
  bench_.send(Written::grant(kSecondPs));
  EXPECT_TRUE(link_->follow(at(30)));
  EXPECT_EQ(now(), 30);
  bench_.send(Written::frame(kSecondPs, frame(1)));
  bench_.send(Written::grant(2 * kSecondPs));
  EXPECT_TRUE(link_->follow(at(40)));
  EXPECT_EQ(now(), 40);
}

TEST_F(BenchLinkTest, GoesOnByItselfWithoutAPeerAndSaysSoOnce) {
  bench_.send(Written::frame(600'000, frame(1)));
  bench_.hang_up();
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_EQ(now(), 600);
  EXPECT_THAT(received(), ElementsAre(1));
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_TRUE(link_->is_lost());
  EXPECT_GT(now(), 600);
  EXPECT_TRUE(link_->step(kNever));
  EXPECT_TRUE(link_->is_drained());
  EXPECT_FALSE(commit(1, 60));
  EXPECT_THAT(told_, ElementsAre("bench b: it has closed the connection; the link is down from now on"));
}

TEST_F(BenchLinkTest, DoesNotFollowAPeerThatIsGone) {
  bench_.hang_up();
  EXPECT_FALSE(link_->follow(kNever));
  EXPECT_TRUE(link_->is_lost());
  EXPECT_EQ(now(), 0);
  EXPECT_TRUE(link_->follow(at(4'000'000))) << "an answer that does not come must time out";
  EXPECT_GT(now(), 0);
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(BenchLinkTest, SaysThatThePeerIsGoneAlsoWhereTimeGoesOn) {
  bench_.hang_up();
  EXPECT_TRUE(link_->follow(at(4'000'000)));
  EXPECT_EQ(told_.size(), 1u);
}

/// What the bench sends after its hello, and what the NIC says to it.
struct BrokenRule {
  std::vector<Bytes> messages;
  std::string words;
};

class BrokenRules : public BenchLinkTest, public ::testing::WithParamInterface<int> {
 protected:
  static std::vector<BrokenRule> all() {
    Bytes unknown = Written::grant(kSecondPs);
    unknown[0] = 9;
    return {{{Written::frame(kLatencyPs - 1, frame(1))}, "before the 500000 ps that were granted"},
            {{Written::grant(700'000), Written::grant(699'999)}, "it grants 699999 ps after 700000 ps"},
            {{Written::grant(700'000), Written::frame(699'999, frame(1))}, "arrives at 699999 ps"},
            {{unknown}, "kind 9"},
            {{Written::frame(kSecondPs, frame(1, 1515))}, "1515 bytes"},
            {{Written::frame(kSecondPs, frame(1, 6000))}, "a message has 6016 bytes"},
            {{Written::hello(kLatencyPs)}, "kind 1"},
            {std::vector<Bytes>(BenchLink::kFramesOnTheWay, Written::frame(kLatencyPs, frame(1))),
             "more than 1023 frames are to arrive at one time"}};
  }
};

TEST_P(BrokenRules, EndTheLinkInWords) {
  const BrokenRule rule = all()[static_cast<std::size_t>(GetParam())];
  for (const Bytes& message : rule.messages) {
    const ssize_t sent = send(bench_.socket(), message.data(), message.size(), MSG_DONTWAIT);
    if (sent < 0) static_cast<void>(link_->follow(kNever));  // which takes what waits in the socket
    if (sent < 0) bench_.send(message);
  }
  for (int i = 0; i < 3; ++i) static_cast<void>(link_->step(kNever));
  EXPECT_TRUE(link_->is_lost());
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], HasSubstr(rule.words));
}

INSTANTIATE_TEST_SUITE_P(BenchLink, BrokenRules, ::testing::Range(0, 8));

std::string refusal(PlayedBench& bench, const Bytes& hello) {
  nic::GrantedClock clock;
  if (!hello.empty()) bench.send(hello);
  if (hello.empty()) bench.hang_up();
  const auto link = BenchLink::over(bench.take_link_end(), "b", {.own = {.link_mtu = kMtu}}, clock);
  return link ? "" : link.error().message;
}

TEST(BenchLinkHello, OfAnotherVersionIsRefused) {
  PlayedBench bench;
  EXPECT_THAT(refusal(bench, Written::hello(kLatencyPs, 9000, 2)), HasSubstr("bench b: it speaks version 2"));
}

TEST(BenchLinkHello, OfASmallerMtuIsRefusedWithAWayOut) {
  PlayedBench bench;
  EXPECT_THAT(refusal(bench, Written::hello(kLatencyPs, 1499)), HasSubstr("give --mtu 1499"));
}

TEST(BenchLinkHello, ThatDoesNotComeIsRefused) {
  PlayedBench bench;
  EXPECT_THAT(refusal(bench, {}), HasSubstr("bench b: "));
}

TEST(BenchPath, WithoutABenchIsRefusedBeforeAProgramRuns) {
  const auto nothing = check_bench_path("/nosuchfolder/bench.sock");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ENOENT);
  EXPECT_THAT(nothing.error().message, HasSubstr("start the bench first"));
  const auto file = check_bench_path("/dev/null");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ENOTSOCK);
}

}  // namespace
}  // namespace urnic::drivers::test
