// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runs a script.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/scripts/script.h"

namespace urnic::scripts {

/// Why a script did not pass.
struct Failure {
  unsigned line = 0;             ///< of the statement that failed; 0 at the end of the script
  std::string statement;         ///< as written
  std::string message;           ///< what was expected and what came
  bool is_script_error = false;  ///< the script asks for something that cannot be done
};

struct Outcome {
  std::optional<Failure> failure;
  std::vector<std::string> ladder;  ///< packets, completions and events with their times, as far as it came
};

/// Bounded in time and memory, whatever the script says.
Outcome run_script(const Script& script);

/// Does what the script does and checks no result; skips what cannot be done. For fuzzing.
void play_script(const Script& script);

}  // namespace urnic::scripts
