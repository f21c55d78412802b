// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Plays a script on a stage.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/player/settings.h"
#include "tools/conformance/player/stage.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/result.h"

namespace urnic::scripts {

/// Why a script did not pass.
struct Failure {
  unsigned line = 0;      ///< of the statement that failed; 0 at the end of the script
  std::string statement;  ///< as written
  std::string message;    ///< what was expected and what came
  Trouble::Kind kind = Trouble::Kind::kFailure;
};

struct Outcome {
  std::optional<Failure> failure;
  std::vector<std::string> ladder;  ///< packets, completions and events with their times, as far as it came
  std::vector<Failure> not_judged;  ///< expectations that the stage cannot tell anything about
  std::vector<Failure> excused;     ///< expectations that did not hold, and need not
};

/// Whether the script goes on after an expectation that did not hold, as if it had.
using Excuse = std::function<bool(const Failure&)>;

/// A stage of any kind, as far as the order of a script's statements is concerned.
struct Steps {
  std::function<std::optional<Trouble>(const Statement&)> act;
  std::function<std::optional<Trouble>(const Statement&, Stage::Look)> expect;
  /// What came out and was not taken.
  std::function<std::optional<std::string>(Stage::Look)> first_unexpected;
};

/// Everything that came out must have been expected before the next thing happens; what arrives in one burst
/// happens at once. Why it did not pass; `outcome` gets what need not hold.
std::optional<Failure> run_statements(const Steps& steps, const Script& script, const Excuse& excuse,
                                      Outcome& outcome);

/// What the first lines say, or the first of them that cannot be.
Result<Settings, Failure> read_settings(const Script& script);

/// Bounded in time and memory if the stage is, whatever the script says.
Outcome play(Stage& stage, const Script& script, const Excuse& excuse = {});

}  // namespace urnic::scripts
