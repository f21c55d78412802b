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

void tell_habit(CaseResult& result, const scripts::Failure& failure, const Habit& habit) {
  result.verdict = Verdict::kHabit;
  result.line = failure.line;
  result.statement = failure.statement;
  result.reason = failure.message;
  result.habit_of = habit.maker;
  result.habit_source = habit.source;
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
    const scripts::Failure& first = result.excused.front();
    tell_habit(result, first, *find_habit(played.name, first.message));
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
  const scripts::Failure& failure = *outcome.failure;
  result.line = failure.line;
  result.statement = failure.statement;
  result.reason = failure.message;
  if (failure.kind != Trouble::Kind::kFailure) return result;
  result.verdict = Verdict::kFail;
  if (const Habit* const habit = find_habit(played.name, failure.message)) {
    tell_habit(result, failure, *habit);
  }
  return result;
}

}  // namespace urnic::conform
