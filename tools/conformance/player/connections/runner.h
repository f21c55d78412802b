// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Plays a script about connections on a stage.
#pragma once

#include "tools/conformance/player/connections/stage.h"
#include "tools/conformance/player/runner.h"
#include "tools/conformance/script/script.h"

namespace urnic::scripts::connections {

/// What the first lines of a script say.
Settings settings_of(const Script& script);

/// Bounded in time and memory if the stage is, whatever the script says.
Outcome play(Stage& stage, const Script& script, const Excuse& excuse = {});

/// Does what the script does and checks no result; skips what cannot be done. For fuzzing.
void play_unchecked(Stage& stage, const Script& script);

}  // namespace urnic::scripts::connections
