// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/results/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/conformance/conform/cases/habits.h"
#include "tools/conformance/conform/cases/playable.h"
#include "tools/conformance/script/connections/dialect.h"
#include "tools/conformance/script/parser.h"

namespace urnic::conform {
namespace {

using ::testing::HasSubstr;

constexpr Case kCase{.name = "rc/send/too_long",
                     .text = "# A <long> one -- fact 33\n\n+1ms\nsilence\nstate RTS\n"};

scripts::Script script_of(const Case& of) {
  return scripts::parse_script(of.text).value();
}

CaseResult judged(scripts::Outcome outcome, const Case& of = kCase) {
  return judge(of, script_of(of), std::move(outcome));
}

scripts::Outcome failed(std::string message, scripts::Trouble::Kind kind = scripts::Trouble::Kind::kFailure) {
  return {scripts::Failure{5, "state RTS", std::move(message), kind}, {}, {}, {}};
}

TEST(Verdict, SaysWhatCameOfACase) {
  EXPECT_EQ(judged({}).verdict, Verdict::kPass);
  EXPECT_EQ(judged(failed("the state is ERR")).verdict, Verdict::kFail);
  EXPECT_EQ(judged(failed("no", scripts::Trouble::Kind::kUnavailable)).verdict, Verdict::kUnknown);
  EXPECT_EQ(judged(failed("no", scripts::Trouble::Kind::kScriptError)).verdict, Verdict::kUnknown);
}

TEST(Verdict, CallsAKnownDeviationAHabit) {
  const CaseResult result = judged(failed("not a NAK_INVALID_REQUEST\n  came: NAK_REMOTE_OPERATION psn=1"));
  EXPECT_EQ(result.verdict, Verdict::kHabit);
  EXPECT_EQ(result.habit_of, "rdma_rxe");
  EXPECT_EQ(find_habit("rc/nak/unknown", "came: NAK_REMOTE_OPERATION"), nullptr);
}

// A send's flag means nothing; a receive's would say that there is data.
TEST(Verdict, GrantsTheFlagOfAnImmediateToSendsAlone) {
  const std::string flag = "has-imm is 1, expected 0\n  came: ";
  const Habit* const habit = find_habit("rc/send/immediate", flag + "cqe id=1");
  ASSERT_NE(habit, nullptr);
  EXPECT_EQ(habit->maker, "rdma_rxe and mlx5");
  EXPECT_EQ(find_habit("rc/send/immediate", flag + "rcqe id=1"), nullptr);
}

// A misspelled name would excuse nothing.
TEST(Habits, OfQueuePairsAreNoneOfConnections) {
  EXPECT_NE(find_habit("rc/state/event_too_many_reads", "no event came"), nullptr);
  EXPECT_EQ(find_habit("cm/establishing/passive", "no event came"), nullptr);
}

TEST(Habits, AreOfCasesThatThereAre) {
  for (const std::span<const Habit> habits : {habits_of_rxe(), habits_of_linux_cm()}) {
    for (const Habit& habit : habits) {
      const std::string pattern[] = {std::string(habit.cases)};
      EXPECT_FALSE(cases_of(all_cases(), pattern).empty()) << habit.cases;
    }
  }
}

// Whatever the NIC: its connection manager is known apart from it, and only in cases about connections.
TEST(Habits, OfLinuxConnectionManagerAreOfConnectionsAlone) {
  for (const Habit& habit : habits_of_linux_cm()) {
    EXPECT_EQ(habit.cases.substr(0, 3), "cm/");
    EXPECT_FALSE(habit.message.empty());
    EXPECT_FALSE(habit.source.empty());
  }
  const Habit* const early = find_habit("cm/listening/early_request",
                                        "this came: > REJ tid=0x7000000000000001 remote-id=2304 reason=8");
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(early->maker, "Linux' connection manager");
  EXPECT_EQ(find_habit("cm/listening/early_request", "no event came"), nullptr);
  EXPECT_EQ(find_habit("cm/establishing/passive", "no message came"), nullptr);
}

TEST(Habits, ExcuseNoOtherFailureOfTheirCase) {
  EXPECT_NE(find_habit("rc/sqd/retransmits", "no event came"), nullptr);
  EXPECT_NE(find_habit("uc/sqe", "status is WR_FLUSH_ERR, expected LOC_PROT_ERR"), nullptr);
  EXPECT_EQ(find_habit("uc/send_only", "status is WR_FLUSH_ERR, expected SUCCESS"), nullptr);
  EXPECT_EQ(find_habit("rc/sqd/retransmits", "the state is ERR"), nullptr);
  EXPECT_EQ(find_habit("rc/nak/sequence_goes_back", "no packet came"), nullptr);
}

TEST(Verdict, JudgesWhatStandsAfterSomeHabits) {
  const scripts::Excuse excuse = excuse_for(kCase);
  const scripts::Failure event{4, "event QP_REQ_ERR", "no event came", {}};
  EXPECT_TRUE(excuse(event));
  EXPECT_FALSE(excuse({5, "state RTS", "the state is ERR", {}})) << "no habit";
  EXPECT_FALSE(excuse({5, "> NAK", "came: NAK_REMOTE_OPERATION", {}})) << "it ends the case";
  scripts::Outcome outcome;
  outcome.excused = {event, {6, "event QP_FATAL", "no event came", {}}};
  const CaseResult result = judged(outcome);
  EXPECT_EQ(result.verdict, Verdict::kHabit);
  EXPECT_EQ(result.line, 4u);
  EXPECT_THAT(text_of(result), HasSubstr("also at line 6: no event came"));
  outcome.failure = failed("the state is ERR").failure;
  EXPECT_EQ(judged(outcome).verdict, Verdict::kFail) << "a habit excuses nothing else";
  EXPECT_EQ(judged(outcome).line, 5u);
}

TEST(Verdict, IsUnknownIfNothingCouldBeJudged) {
  scripts::Outcome outcome;
  outcome.not_judged = {{4, "silence", "no", {}}};
  EXPECT_EQ(judged(outcome).verdict, Verdict::kPass);
  outcome.not_judged.push_back({5, "state RTS", "no", {}});
  EXPECT_EQ(judged(outcome).verdict, Verdict::kUnknown);
}

TEST(Cases, HaveRuleAndSource) {
  EXPECT_EQ(kCase.rule(), "A <long> one");
  EXPECT_EQ(kCase.source(), "fact 33");
  for (const Case& each : all_cases()) {
    EXPECT_FALSE(each.rule().empty()) << each.name;
    EXPECT_FALSE(each.source().empty()) << each.name;
    const bool is_connection = each.kind == Case::Kind::kConnection;
    EXPECT_EQ(is_connection, each.name.starts_with("cm/")) << each.name;
    EXPECT_TRUE(is_connection ? scripts::connections::parse_connection_script(each.text)
                              : scripts::parse_script(each.text))
        << each.name;
  }
  EXPECT_GT(all_cases().size(), 700u);
}

TEST(Cases, AreChosenByPatterns) {
  const std::string patterns[] = {"rc/nak/*", "uc/*"};
  const auto chosen = cases_of(all_cases(), patterns);
  EXPECT_GT(chosen.size(), 30u);
  for (const Case& each : chosen) {
    EXPECT_TRUE(each.name.starts_with("rc/nak/") || each.name.starts_with("uc/")) << each.name;
  }
  EXPECT_EQ(cases_of(all_cases(), {}).size(), all_cases().size());
  const std::string none[] = {"nothing"};
  EXPECT_TRUE(cases_of(all_cases(), none).empty());
}

std::optional<std::string> reason(const std::string& lines) {
  const auto script = scripts::parse_script("# Something -- fact 1\n" + lines).value();
  return reason_against(script);
}

TEST(Cases, SayWhyTheyCannotBePlayed) {
  EXPECT_EQ(reason("silence"), std::nullopt);
  EXPECT_EQ(reason("service uc\nsilence"), std::nullopt);
  EXPECT_EQ(reason("service ud\nsilence"), std::nullopt);
  EXPECT_EQ(reason("service xrc role=initiator\nsilence"), std::nullopt);
  EXPECT_EQ(reason("shared-receives\nsilence"), std::nullopt);
  EXPECT_TRUE(reason("window-packets 4\nsilence"));
  EXPECT_EQ(reason("window w key=1 type=1\nsilence"), std::nullopt);
  EXPECT_TRUE(reason("< FLUSH psn=100 to=shared+0 dmalen=1"));
  EXPECT_TRUE(reason("post send id=1 length=1 burst\nmodify SQD"));
  EXPECT_TRUE(reason("< SEND_ONLY psn=100 burst\ndereg shared"));
  EXPECT_FALSE(reason("post send id=1 length=1 burst\nstore local+0:1 fill=1"));
  EXPECT_TRUE(reason("+1ns\n< SEND_ONLY psn=100"));
  EXPECT_FALSE(reason("+1ns\n> SEND_ONLY psn=100"));
  EXPECT_TRUE(reason("post atomic-write id=1 va=0 rkey=1"));
}

TEST(Report, HasThePlaceTheRuleAndItsSource) {
  CaseResult result = judged(failed("the state is ERR"));
  result.ladder = {"1 us  < SEND_ONLY"};
  result.capture = "packets/x.pcapng";
  const std::string text = text_of(result);
  for (const char* part :
       {"FAIL     rc/send/too_long", "line 5: state RTS", "the state is ERR", "rule: A <long> one",
        "source: fact 33", "packets: packets/x.pcapng", "< SEND_ONLY"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Report, IsJsonAndXml) {
  const CaseResult results[] = {judged({}), judged(failed("a & b")),
                                judged(failed("no agent", scripts::Trouble::Kind::kUnavailable))};
  const auto json = json_of("192.0.2.2", results);
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["unknown"], 1);
  EXPECT_EQ(json["cases"][1]["verdict"], "FAIL");
  EXPECT_EQ(json["cases"][1]["source"], "fact 33");
  const std::string xml = junit_of("192.0.2.2", results);
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"a &amp; b\">"));
  EXPECT_THAT(xml, HasSubstr("rule: A &lt;long&gt; one"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"no agent\"/>"));
  EXPECT_EQ(summary_of(count(results)), "3 cases: 1 passed, 1 failed, 0 habits, 1 unknown\n");
}

}  // namespace
}  // namespace urnic::conform
