// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/player/runner.h"

#include <span>

#include "tools/conformance/player/steps.h"

namespace urnic::scripts {
namespace {

constexpr const char* kUnexpected = "this came, and nothing expected it: ";

Failure failure_at(const Statement& statement, Trouble trouble) {
  return {statement.line, statement.text, std::move(trouble.message), trouble.kind};
}

/// How to look for what nothing expects, at the first of these statements.
Stage::Look look_at(std::span<const Statement> rest) {
  for (const Statement& statement : rest) {
    if (!is_action(statement.verb)) continue;
    if (statement.verb == Verb::kPass) return Stage::Look::kBeforeTime;
    break;
  }
  return is_action(rest.front().verb) ? Stage::Look::kBeforeAction : Stage::Look::kSilence;
}

/// What the program does to its memory lets nothing happen: a burst goes on after it.
bool is_about_memory(Verb verb) {
  return verb == Verb::kStore || verb == Verb::kDeregister || verb == Verb::kChangeRights;
}

}  // namespace

std::optional<Failure> run_statements(const Steps& steps, const Script& script, const Excuse& excuse,
                                      Outcome& outcome) {
  const std::span statements(script.statements);
  bool in_burst = false;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    if (is_setting(statement.verb)) continue;
    const Stage::Look look = look_at(statements.subspan(i));
    if (!is_action(statement.verb)) {
      auto trouble = steps.expect(statement, look);
      if (!trouble) continue;
      Failure failure = failure_at(statement, *std::move(trouble));
      if (failure.kind == Trouble::Kind::kUnavailable) {
        outcome.not_judged.push_back(std::move(failure));
      } else if (failure.kind == Trouble::Kind::kFailure && excuse && excuse(failure)) {
        outcome.excused.push_back(std::move(failure));
      } else {
        return failure;
      }
      continue;
    }
    if (!in_burst) {
      if (const auto unexpected = steps.first_unexpected(look)) {
        return failure_at(statement, {"before this, " + (kUnexpected + *unexpected)});
      }
    }
    in_burst = statement.flag("burst") || (in_burst && is_about_memory(statement.verb));
    if (auto trouble = steps.act(statement)) return failure_at(statement, *std::move(trouble));
  }
  if (auto unexpected = steps.first_unexpected(Stage::Look::kSilence)) {
    return Failure{0, "end of the script", kUnexpected + *unexpected};
  }
  return std::nullopt;
}

Result<Settings, Failure> read_settings(const Script& script) {
  Settings settings;
  for (const Statement& statement : script.statements) {
    if (!is_setting(statement.verb)) break;
    if (auto trouble = apply_setting(settings, statement)) return failure_at(statement, *std::move(trouble));
  }
  return settings;
}

Outcome play(Stage& stage, const Script& script, const Excuse& excuse) {
  Outcome outcome;
  const Steps steps{
      .act = [&](const Statement& statement) { return act(stage, statement); },
      .expect = [&](const Statement& statement, Stage::Look look) { return expect(stage, statement, look); },
      .first_unexpected = [&](Stage::Look look) { return stage.first_unexpected(look); }};
  outcome.failure = run_statements(steps, script, excuse, outcome);
  if (!outcome.failure && stage.flushes() != nullptr && !stage.flushes()->empty()) {
    outcome.failure = Failure{0, "end of the script", "a FLUSH happened that nothing expected"};
  }
  outcome.ladder.assign(stage.ladder().begin(), stage.ladder().end());
  return outcome;
}

}  // namespace urnic::scripts
