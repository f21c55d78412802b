// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/results/verdict.h"

#include <algorithm>
#include <utility>

#include "tools/conformance/conform/cases/habits.h"
#include "tools/conformance/player/steps.h"

namespace urnic::conform {
namespace {

using scripts::Statement;
using scripts::Trouble;

/// How many lines expect something that can be judged.
std::size_t expectations_of(const scripts::Script& script) {
  const auto is_expectation = [](const Statement& statement) {
    return !is_setting(statement.verb) && !scripts::is_action(statement.verb);
  };
  return static_cast<std::size_t>(
      std::count_if(script.statements.begin(), script.statements.end(), is_expectation));
}

void tell_failure(CaseResult& result, const scripts::Failure& failure) {
  result.line = failure.line;
  result.statement = failure.statement;
  result.reason = failure.message;
}

/// The verdict on what the result says, which is a failure if no known NIC does so.
void fail_or_excuse(CaseResult& result) {
  result.verdict = Verdict::kFail;
  const Habit* const habit = find_habit(result.of.name, result.reason);
  if (habit == nullptr) return;
  result.verdict = Verdict::kHabit;
  result.habit_of = habit->maker;
  result.habit_source = habit->source;
}

}  // namespace

scripts::Excuse excuse_for(const Case& played) {
  return [name = played.name](const scripts::Failure& failure) {
    const Habit* const habit = find_habit(name, failure.message);
    return habit != nullptr && habit->goes_on;
  };
}

CaseResult judge(const Case& played, const scripts::Script& script, scripts::Outcome outcome) {
  CaseResult result;
  result.of = played;
  result.not_judged = std::move(outcome.not_judged);
  result.excused = std::move(outcome.excused);
  result.ladder = std::move(outcome.ladder);
  if (!outcome.failure && !result.excused.empty()) {
    tell_failure(result, result.excused.front());
    fail_or_excuse(result);
    return result;
  }
  if (!outcome.failure) {
    const std::size_t count = expectations_of(script);
    if (!result.not_judged.empty() && result.not_judged.size() == count) {
      result.reason = "nothing of it can be judged: " + result.not_judged.front().message;
      return result;
    }
    result.verdict = Verdict::kPass;
    return result;
  }
  tell_failure(result, *outcome.failure);
  if (outcome.failure->kind == Trouble::Kind::kFailure) fail_or_excuse(result);
  return result;
}

void fail_by_rule(CaseResult& result, std::string reason) {
  result.reason = std::move(reason);
  fail_or_excuse(result);
}

}  // namespace urnic::conform
