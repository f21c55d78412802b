// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a script is judged on a wire.
#include "tools/conformance/conform/stage/live_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/conform/live_stage_fakes.h"

namespace urnic::conform {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(LiveStageTest, MakesWhatTheScriptWants) {
  play("expect-psn 5\nmtu 2048\nresources 3\nsilence");
  EXPECT_THAT(agent.lines, Contains("qp rc 0 64"));
  EXPECT_THAT(agent.lines, Contains(StartsWith("connect 0 4194305 ")));
  EXPECT_THAT(agent.lines, Contains("modify 0 INIT access=14"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTR mtu=4 receive-psn=5 resources=3 rnr-timer=12"));
  EXPECT_THAT(agent.lines, Contains("modify 0 RTS send-psn=200 timeout=19 retry=7 rnr-retry=7 reads=4"));
  EXPECT_THAT(agent.lines, Contains("fill 1 0 131072 2097152"));
}

TEST_F(LiveStageTest, GoesAsFarAsTheScriptBegins) {
  play("start INIT\nsilence\nmodify RTR");
  EXPECT_THAT(agent.lines, Contains(StartsWith("modify 0 RTR ")));
  EXPECT_THAT(agent.lines, ::testing::Not(Contains(StartsWith("modify 0 RTS"))));
}

TEST_F(LiveStageTest, SendsToThePeersPlaces) {
  wire.let_come(1ms, "ACK", 100, 1);
  EXPECT_EQ(verdict("< WRITE_ONLY psn=100 to=shared+16 len=4 ackreq\n> ACK psn=100 msn=1"), "passed");
  ASSERT_EQ(wire.sent.size(), 1u);
  EXPECT_EQ(wire.sent[0].dst, 291u);
  EXPECT_EQ(wire.sent[0].va, 0x20000010u);
  EXPECT_EQ(wire.sent[0].rkey, 101u);
}

TEST_F(LiveStageTest, ComparesPackets) {
  wire.let_come(1ms, "ACK", 100, 2);
  EXPECT_THAT(verdict("< WRITE_ONLY psn=100 to=shared+0 len=4 ackreq\n> ACK psn=100 msn=1"),
              HasSubstr("msn is 2, expected 1"));
}

TEST_F(LiveStageTest, NoticesWhatDoesNotCome) {
  EXPECT_EQ(verdict("< WRITE_ONLY psn=100 to=shared+0 len=4 ackreq\n> ACK psn=100"), "no packet came");
}

TEST_F(LiveStageTest, NoticesWhatNothingExpected) {
  wire.let_come(1ms, "ACK", 100);
  EXPECT_THAT(verdict("< WRITE_ONLY psn=100 to=shared+0 len=4\nsilence"), HasSubstr("this came: > ACK"));
}

TEST_F(LiveStageTest, WaitsForTheEndBeforeItIsContent) {
  wire.let_come(1ms, "ACK", 100, 1);
  wire.let_come(5ms, "ACK", 100, 1);
  EXPECT_THAT(verdict("< WRITE_ONLY psn=100 to=shared+0 len=4 ackreq\n> ACK psn=100"),
              HasSubstr("nothing expected it: > ACK"));
}

constexpr const char* kTwoWrites =
    "< WRITE_ONLY psn=100 to=shared+0 len=4 ackreq burst\n< WRITE_ONLY psn=101 to=shared+0 len=4 ackreq\n";

TEST_F(LiveStageTest, LetsAPeerAcknowledgeEachPacket) {
  wire.let_come(1ms, "ACK", 100, 1);
  wire.let_come(2ms, "ACK", 101, 2);
  EXPECT_EQ(verdict(std::string(kTwoWrites) + "> ACK psn=101 msn=2"), "passed");
}

TEST_F(LiveStageTest, LetsAPeerAcknowledgeSeveralAtOnce) {
  wire.let_come(2ms, "ACK", 101, 2);
  EXPECT_EQ(verdict(std::string(kTwoWrites) + "> ACK psn=100 msn=1\n> ACK psn=101 msn=2"), "passed");
}

TEST_F(LiveStageTest, LetsAPeerAcknowledgeWhatCameBeforeARead) {
  wire.let_come(1ms, "ACK", 100, 1);
  wire.let_come(2ms, "READ_RESPONSE_ONLY", 101, 2);
  EXPECT_EQ(
      verdict(
          "< WRITE_ONLY psn=100 to=shared+0 len=4 ackreq burst\n< READ_REQUEST psn=101 to=shared+0 dmalen=4\n"
          "> READ_RESPONSE_ONLY psn=101 msn=2"),
      "passed");
}

TEST_F(LiveStageTest, SendsABurstAtOnce) {
  wire.let_come(2ms, "ACK", 101, 2);
  play(std::string(kTwoWrites) + "> ACK psn=101 msn=2");
  EXPECT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.flushed, 2u);
}

TEST_F(LiveStageTest, GivesThePeersRnrNaksTheTimerOfTheScript) {
  wire.let_come(1ms, "RNR_NAK", 100);
  wire.coming.back().ib[12] = std::byte{0x20 | 28};  // 163.84 ms
  EXPECT_EQ(verdict("rnr-timer 12\n< SEND_ONLY psn=100 len=4\n> RNR_NAK psn=100 syn=0x2c\n+0.64ms\nsilence"),
            "passed");
  EXPECT_THAT(agent.lines, Contains(HasSubstr("rnr-timer=28")));
}

TEST_F(LiveStageTest, DoesNotLetAPeerAcknowledgeWhatWasNotSent) {
  wire.let_come(2ms, "ACK", 102, 2);
  EXPECT_NE(verdict(std::string(kTwoWrites) + "> ACK psn=101"), "passed");
}

TEST_F(LiveStageTest, DoesNotTakeAnAckForANak) {
  wire.let_come(1ms, "ACK", 99);
  EXPECT_THAT(verdict("< WRITE_ONLY psn=101 to=shared+0 len=4 ackreq\n> NAK_SEQUENCE psn=100"),
              HasSubstr("not a NAK_SEQUENCE"));
}

// 67.1 ms, four times as long on a wire.
constexpr const char* kTimeout =
    "post send id=1 length=4\n> SEND_ONLY psn=200\n+67.108863ms\nsilence\n+1us\n> SEND_ONLY psn=200";

TEST_F(LiveStageTest, TakesARepetitionAtItsTime) {
  wire.let_come(1ms, "SEND_ONLY", 200);
  wire.let_come(270ms, "SEND_ONLY", 200);
  EXPECT_EQ(verdict(kTimeout), "passed");
  EXPECT_THAT(agent.lines, Contains(HasSubstr(" timeout=16 ")));
}

TEST_F(LiveStageTest, TakesARepetitionUpToAsLateAgain) {
  wire.let_come(1ms, "SEND_ONLY", 200);
  wire.let_come(530ms, "SEND_ONLY", 200);
  EXPECT_EQ(verdict(kTimeout), "passed");
}

TEST_F(LiveStageTest, DoesNotTakeARepetitionThatIsTooEarly) {
  wire.let_come(1ms, "SEND_ONLY", 200);
  wire.let_come(150ms, "SEND_ONLY", 200);
  EXPECT_THAT(verdict(kTimeout), HasSubstr("too early: after 149000 us"));
}

TEST_F(LiveStageTest, DoesNotWaitForARepetitionForEver) {
  wire.let_come(1ms, "SEND_ONLY", 200);
  wire.let_come(3s, "SEND_ONLY", 200);
  EXPECT_EQ(verdict(kTimeout), "no packet came");
}

TEST_F(LiveStageTest, CountsATimeFromWhateverBeganIt) {
  wire.let_come(1ms, "SEND_ONLY", 200);
  wire.let_come(150ms, "SEND_ONLY", 200);
  wire.let_come(151ms, "SEND_ONLY", 201);
  // The second work request settles the wire for a while, which the script does not know.
  EXPECT_EQ(verdict("post send id=1 length=4\n> SEND_ONLY psn=200\n< RNR_NAK psn=200 syn=0x2e\n"
                    "post send id=2 length=4\n+1.28ms\n> SEND_ONLY psn=200\n> SEND_ONLY psn=201"),
            "passed");
}

TEST_F(LiveStageTest, LetsARepetitionComeAtOnceWhereTheScriptWaitsForMicroseconds) {
  wire.let_come(1ms, "SEND_ONLY", 200);
  wire.let_come(2ms, "SEND_ONLY", 200);
  EXPECT_EQ(verdict("post send id=1 length=4\n> SEND_ONLY psn=200\nsilence\n+10us\n> SEND_ONLY psn=200"),
            "passed");
}

TEST_F(LiveStageTest, HasCompletionsAndEventsFromTheAgent) {
  agent.replies["poll 0 recv 100"] = {"ok", "ok id=7 status=0 vendor=0 opcode=128 length=4"};
  agent.replies["events"] = {"ok 9", "ok 4"};
  EXPECT_EQ(verdict("receive id=7\n< SEND_ONLY psn=100 len=4\nrcqe id=7 opcode=RECV len=4\nevent COMM_EST"),
            "passed");
  EXPECT_THAT(agent.lines, Contains("recv 0 7 sge=2:0:4096"));
}

constexpr const char* kTwoEvents = "+1ms\nevent QP_REQ_ERR\nevent QP_ACCESS_ERR\n";

bool is_about_events(const scripts::Failure& failure) {
  return failure.message == "no event came";
}

TEST_F(LiveStageTest, GoesOnAfterWhatIsExcused) {
  const auto outcome = play(std::string(kTwoEvents) + "silence", is_about_events);
  EXPECT_FALSE(outcome.failure) << outcome.failure->message;
  ASSERT_EQ(outcome.excused.size(), 2u);
  EXPECT_EQ(outcome.excused.back().statement, "event QP_ACCESS_ERR");
}

TEST_F(LiveStageTest, EndsAtWhatIsNotExcused) {
  EXPECT_EQ(verdict(kTwoEvents), "no event came");
  const auto outcome = play(std::string(kTwoEvents) + "cqe id=1", is_about_events);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->message, HasSubstr("no completion of a send came"));
}

TEST_F(LiveStageTest, NoticesACompletionThatDoesNotCome) {
  EXPECT_EQ(verdict("receive id=7\n< SEND_ONLY psn=100 len=4\nrcqe id=7"), "no completion of a receive came");
}

// IBV_WC_FATAL_ERR, which urnic never has.
TEST_F(LiveStageTest, NoticesACompletionThatNoScriptKnows) {
  agent.replies["poll 0 send 0"] = {"ok id=1 status=19 vendor=0"};
  EXPECT_EQ(verdict("post send id=1 length=1\nsilence"),
            "this came: cqe id=1 status=19 vendor=0, which no script knows");
}

TEST_F(LiveStageTest, ShowsACompletionThatNoScriptKnowsWhereAnotherIsExpected) {
  agent.replies["poll 0 send 100"] = {"ok id=1 status=19 vendor=0"};
  const auto outcome = play("post send id=1 length=1\ncqe id=1");
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->message, "no completion of a send came");
  EXPECT_THAT(outcome.ladder, Contains(HasSubstr("status=19")));
}

TEST_F(LiveStageTest, NamesWhatNoAgentCanTell) {
  const auto outcome = play("timer none\ncounter rcvd_rnr_err=0\nstate RTS");
  EXPECT_FALSE(outcome.failure);
  ASSERT_EQ(outcome.not_judged.size(), 2u);
  EXPECT_EQ(outcome.not_judged[0].line, 2u);
  EXPECT_EQ(outcome.not_judged[1].line, 3u);
}

TEST_F(LiveStageTest, ComparesCountersThatTheDeviceHas) {
  agent.replies["counters"] = {"ok lifespan=20 out_of_sequence=5", "ok out_of_sequence=7",
                               "ok out_of_sequence=9"};
  EXPECT_THAT(verdict("counter out_of_sequence=1"), HasSubstr("out_of_sequence is 2, expected 1"));
}

TEST_F(LiveStageTest, SaysThatTheAgentHasVanished) {
  agent.vanishes_at = "recv";
  const auto outcome = play("receive id=7\nsilence");
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->kind, scripts::Trouble::Kind::kUnavailable);
  EXPECT_TRUE(lost_agent);
}

TEST_F(LiveStageTest, FindsOutThatAMachineIsGone) {
  agent.vanishes_at = "events";
  play("< WRITE_ONLY psn=100 to=shared+0 len=4 ackreq\n> ACK psn=100");
  EXPECT_TRUE(lost_agent);
}

TEST_F(LiveStageTest, EndsACaseInWhichTheAgentVanishesWhileItWaits) {
  agent.vanishes_at = "poll";
  play("receive id=7\n< SEND_ONLY psn=100 len=4\nrcqe id=7");
  EXPECT_TRUE(lost_agent);
}

TEST_F(LiveStageTest, IsNotThereWithAPathThatIsTooNarrow) {
  agent.replies["open - 1 0"] = {"ok device=fake0 gid-index=1 mtu=3 reads=16 gid=00"};
  const auto script = scripts::parse_script("# Something -- fact 1\nmtu 4096\nsilence").value();
  const auto settings = scripts::read_settings(script).value();
  const auto stage =
      LiveStage::create(settings, Pace::plan(script, settings).value(), Peer{}, kOwnQp, true, agent, wire);
  ASSERT_FALSE(stage);
  EXPECT_THAT(stage.error().message, HasSubstr("1024 bytes"));
}

// --- A wire that grants the time ---

TEST_F(LiveStageTest, LetsTimePassWhileItWaitsForACompletion) {
  wire.in_lock_step = true;
  agent.sleep = [](Duration duration) { EXPECT_EQ(duration, 0ms) << "no time passes meanwhile"; };
  agent.replies["poll 0 send 0"] = {"ok", "ok", "ok id=1 status=0 vendor=0 opcode=0 length=1"};
  wire.let_come(1ms, "SEND_ONLY", 200);
  const Time begin = wire.now();
  EXPECT_THAT(verdict("post send id=1 length=4\n> SEND_ONLY psn=200\n< ACK psn=200\ncqe id=1"),
              HasSubstr("passed"));
  EXPECT_GT(wire.now() - begin, 2ms);
}

TEST_F(LiveStageTest, EndsItsWaitForACompletionThere) {
  wire.in_lock_step = true;
  agent.sleep = [](Duration) {};
  EXPECT_THAT(verdict("post send id=1 length=4\ncqe id=1"), HasSubstr("no completion of a send came"));
}

TEST_F(LiveStageTest, WaitsInRealTimeForTheFilesOfCounters) {
  wire.in_lock_step = true;
  agent.replies["counters"] = {"ok lifespan=30", "ok duplicate_request=1", "ok duplicate_request=3"};
  EXPECT_EQ(verdict("counter duplicate_request=2"), "passed");
  EXPECT_GE(wire.waited, 60ms);
}

TEST_F(LiveStageTest, WaitsForCountersThatComeLate) {
  agent.replies["counters"] = {"ok lifespan=20", "ok duplicate_request=1", "ok duplicate_request=1",
                               "ok duplicate_request=3"};
  EXPECT_EQ(verdict("counter duplicate_request=2"), "passed");
}

// --- Atomics ---

TEST_F(LiveStageTest, AsksNoAtomicsOfANicThatHasNone) {
  const auto opened = [](int atomics) {
    return "ok device=fake0 gid-index=1 mtu=5 reads=16 atomics=" + std::to_string(atomics) +
           " gid=00000000000000000000ffff0a000002";
  };
  agent.replies["open - 1 0"] = {opened(0), opened(1)};
  constexpr const char* kAtomic = "< FETCH_ADD psn=100 to=shared+64 swap=3\nsilence";
  EXPECT_EQ(verdict(kAtomic), "the peer's NIC has no atomics");
  EXPECT_TRUE(wire.sent.empty());
  EXPECT_EQ(verdict(kAtomic), "passed");
  EXPECT_EQ(wire.sent.size(), 1u);
}

}  // namespace
}  // namespace urnic::conform
