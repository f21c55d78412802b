// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/runner.h"

#include "tests/scripts/stage.h"
#include "tests/scripts/steps.h"

namespace urnic::scripts {
namespace {

constexpr const char* kUnexpected = "this came, and nothing expected it: ";

Failure failure_at(const Statement& statement, Trouble trouble) {
  return {statement.line, statement.text, std::move(trouble.message), trouble.is_script_error};
}

/// Everything that came out must have been expected before the next thing happens; what arrives in one burst
/// happens at once.
std::optional<Failure> run_actions(Stage& stage, const std::vector<Statement>& statements) {
  bool in_burst = false;
  for (const Statement& statement : statements) {
    if (is_setting(statement.verb)) continue;
    if (!is_action(statement.verb)) {
      if (auto trouble = expect(stage, statement)) return failure_at(statement, *std::move(trouble));
      continue;
    }
    const auto unexpected = first_unexpected(stage, stage.outputs());
    if (unexpected && !in_burst) {
      return failure_at(statement, {"before this, " + (kUnexpected + *unexpected)});
    }
    in_burst = statement.flag("burst");
    if (auto trouble = act(stage, statement)) return failure_at(statement, *std::move(trouble));
  }
  if (auto unexpected = first_unexpected(stage, stage.outputs())) {
    return Failure{0, "end of the script", kUnexpected + *unexpected};
  }
  if (!stage.memory().flushes().empty()) {
    return Failure{0, "end of the script", "a FLUSH happened that nothing expected"};
  }
  return std::nullopt;
}

}  // namespace

Outcome run_script(const Script& script) {
  Settings settings;
  for (const Statement& statement : script.statements) {
    if (!is_setting(statement.verb)) break;
    if (auto trouble = apply_setting(settings, statement)) {
      return {failure_at(statement, *std::move(trouble)), {}};
    }
  }
  Stage stage(settings);
  if (!stage.is_set()) {
    return {failure_at(script.statements.front(), script_error("there is no endpoint of this service")), {}};
  }
  Outcome outcome;
  outcome.failure = run_actions(stage, script.statements);
  outcome.ladder.assign(stage.ladder().begin(), stage.ladder().end());
  return outcome;
}

void play_script(const Script& script) {
  Settings settings;
  for (const Statement& statement : script.statements) {
    if (is_setting(statement.verb)) apply_setting(settings, statement);
  }
  Stage stage(settings);
  for (const Statement& statement : script.statements) {
    if (is_action(statement.verb)) act(stage, statement);
    stage.outputs() = {};
    stage.memory().flushes().clear();
  }
}

}  // namespace urnic::scripts
