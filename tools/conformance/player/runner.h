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

/// What the first lines say, or the first of them that cannot be.
Result<Settings, Failure> read_settings(const Script& script);

/// Bounded in time and memory if the stage is, whatever the script says.
Outcome play(Stage& stage, const Script& script, const Excuse& excuse = {});

}  // namespace urnic::scripts
