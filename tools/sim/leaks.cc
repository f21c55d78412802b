#include "tools/sim/leaks.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "tools/sim/traffic/host.h"
#include "tools/sim/traffic/shared_receives.h"
#include "tools/sim/traffic/volatile_key.h"

namespace urnic::sim {

void take_down(Scene& scene, FramePool& frames) {
  for (Machine& machine : scene.machines) {
    const std::string host(1, name(machine.host->id()));
    machine.volatile_key.reset();
    scene.referee.complain_if("leak", machine.host->tear_down(), host);
    // Destroying may send a last word, but touches no memory.
    scene.referee.complain_if("memory", machine.host->memory().check(), host);
    for (Frame* const frame : std::exchange(machine.host->attachment().inbox, {})) frames.give_back(frame);
  }
  scene.machines.clear();
  while (!scene.events.is_empty()) {
    if (Frame* const frame = scene.events.take().frame; frame != nullptr) frames.give_back(frame);
  }
  if (frames.outstanding() == 0) return;
  scene.referee.complain("leak", fmt::format("{} frames were never given back", frames.outstanding()));
}

}  // namespace urnic::sim
