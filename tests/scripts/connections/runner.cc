// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/connections/runner.h"

#include "tests/scripts/connections/stage.h"
#include "tests/scripts/connections/steps.h"

namespace urnic::scripts::connections {
namespace {

constexpr const char* kUnexpected = "this came, and nothing expected it: ";

Settings settings_of(const Script& script) {
  Settings settings;
  for (const Statement& statement : script.statements) {
    if (statement.name == "over") settings.is_ipv6 = statement.subject_as<Word>() == "ipv6";
    if (statement.name == "link-mtu")
      settings.link_mtu = statement.subject_as<Word>() == "1500" ? 1500 : 4200;
  }
  return settings;
}

/// Everything that came out must have been expected before the next thing happens, unless that happens at the
/// same moment.
std::optional<Failure> run_actions(Stage& stage, const Script& script) {
  bool in_burst = false;
  for (const Statement& statement : script.statements) {
    if (is_setting(statement.verb)) continue;
    std::optional<Trouble> trouble;
    if (is_action(statement.verb)) {
      const auto unexpected = in_burst ? std::nullopt : first_unexpected(stage);
      in_burst = statement.flag("burst");
      trouble = unexpected ? Trouble{"before this, " + (kUnexpected + *unexpected)} : act(stage, statement);
    } else {
      trouble = expect(stage, statement);
    }
    if (trouble) {
      return Failure{statement.line, statement.text, std::move(trouble->message), trouble->kind};
    }
  }
  if (auto unexpected = first_unexpected(stage)) {
    return Failure{0, "end of the script", kUnexpected + *unexpected};
  }
  return std::nullopt;
}

}  // namespace

bool is_action(Verb verb) {
  return verb == Verb::kCall || verb == Verb::kArrives || verb == Verb::kPass;
}

std::optional<Trouble> act(Stage& stage, const Statement& statement) {
  if (statement.verb == Verb::kCall) return call(stage, statement);
  if (statement.verb == Verb::kArrives) return arrive(stage, statement);
  stage.note(statement.text);
  if (auto wrong = stage.pass(statement.subject_as<transport::Duration>())) return Trouble{*std::move(wrong)};
  return std::nullopt;
}

Outcome run_connection_script(const Script& script) {
  Stage stage(settings_of(script));
  Outcome outcome;
  outcome.failure = run_actions(stage, script);
  outcome.ladder.assign(stage.ladder().begin(), stage.ladder().end());
  return outcome;
}

void play_connection_script(const Script& script) {
  Stage stage(settings_of(script));
  for (const Statement& statement : script.statements) {
    if (is_action(statement.verb)) {
      act(stage, statement);
    } else if (statement.verb == Verb::kEvent) {
      // Requests get their names.
      expect(stage, statement);
    }
    stage.sent().clear();
  }
}

}  // namespace urnic::scripts::connections
