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

}  // namespace

CaseResult judge(const Case& played, const scripts::Script& script, scripts::Outcome outcome) {
  CaseResult result;
  result.of = played;
  result.not_judged = std::move(outcome.not_judged);
  result.ladder = std::move(outcome.ladder);
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
  const Habit* const habit = find_habit(played.name, failure.message);
  result.verdict = habit == nullptr ? Verdict::kFail : Verdict::kHabit;
  if (habit != nullptr) {
    result.habit_of = habit->maker;
    result.habit_source = habit->source;
  }
  return result;
}

}  // namespace urnic::conform
