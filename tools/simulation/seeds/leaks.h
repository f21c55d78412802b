// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Leaks: the oracle that takes a world down and wants everything back.
#pragma once

#include "tools/simulation/seeds/traffic/scene.h"

namespace urnic::sim {

/// Destroys the hosts of `scene`, whose traffic is gone. Complains when a device thinks that something is
/// still in use, and when its last word touches memory.
void take_down(Scene& scene);

}  // namespace urnic::sim
