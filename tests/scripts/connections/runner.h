// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runs a script about connections.
#pragma once

#include "tools/conformance/player/runner.h"
#include "tools/conformance/script/script.h"

namespace urnic::scripts::connections {

/// Bounded in time and memory, whatever the script says.
Outcome run_connection_script(const Script& script);

/// Does what the script does and checks no result; skips what cannot be done. For fuzzing.
void play_connection_script(const Script& script);

}  // namespace urnic::scripts::connections
