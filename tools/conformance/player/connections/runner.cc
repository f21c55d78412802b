// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/player/connections/runner.h"

#include "tools/conformance/player/connections/steps.h"
#include "tools/conformance/player/steps.h"

namespace urnic::scripts::connections {

Settings settings_of(const Script& script) {
  Settings settings;
  for (const Statement& statement : script.statements) {
    if (statement.name == "over") settings.is_ipv6 = statement.subject_as<Word>() == "ipv6";
    if (statement.name == "link-mtu") {
      settings.link_mtu = statement.subject_as<Word>() == "1500" ? 1500 : 4200;
    }
  }
  return settings;
}

std::optional<Trouble> act(Stage& stage, const Statement& statement) {
  if (statement.verb == Verb::kArrives) return arrive(stage, statement);
  stage.note(statement.text);
  if (statement.verb == Verb::kCall) return stage.call(statement);
  return stage.pass(statement.subject_as<transport::Duration>());
}

Outcome play(Stage& stage, const Script& script, const Excuse& excuse) {
  Outcome outcome;
  const Steps steps{
      .act = [&](const Statement& statement) { return act(stage, statement); },
      .expect = [&](const Statement& statement, Stage::Look) { return expect(stage, statement); },
      .first_unexpected = [&](Stage::Look look) { return stage.first_unexpected(look); }};
  outcome.failure = run_statements(steps, script, excuse, outcome);
  outcome.ladder.assign(stage.ladder().begin(), stage.ladder().end());
  return outcome;
}

void play_unchecked(Stage& stage, const Script& script) {
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
