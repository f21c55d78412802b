// Leaks: the oracle that takes a world down and wants everything back.
#pragma once

#include "tools/simulation/seeds/core/event_queue.h"
#include "tools/simulation/seeds/traffic/scene.h"

namespace urnic::sim {

/// Destroys the hosts of `scene`, whose traffic is gone, and takes the frames out of its events. Complains
/// when a device thinks that something is still in use, when its last word touches memory, and when a frame
/// does not come back to `frames`.
void take_down(Scene& scene, FramePool& frames);

}  // namespace urnic::sim
