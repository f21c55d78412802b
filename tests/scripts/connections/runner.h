// Runs a script about connections.
#pragma once

#include "tests/scripts/runner.h"
#include "tests/scripts/script.h"

namespace urnic::scripts::connections {

/// Bounded in time and memory, whatever the script says.
Outcome run_connection_script(const Script& script);

/// Does what the script does and looks at nothing that comes of it; what cannot be done is left out. For fuzzing.
void play_connection_script(const Script& script);

}  // namespace urnic::scripts::connections
