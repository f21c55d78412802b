// Scene: what the parts of one simulated world share.
#pragma once

#include <algorithm>
#include <array>

#include "tests/sim/clock.h"
#include "tests/sim/coverage.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/options.h"
#include "tests/sim/random.h"
#include "tests/sim/referee.h"
#include "tests/sim/wire_observer.h"

namespace urnic::sim {

class Host;

struct Scene {
  const Options& options;
  SimClock& clock;
  EventQueue& events;
  Referee& referee;
  WireObserver& observer;
  Coverage& coverage;
  /// Of what the applications decide while the world runs.
  Random& random;
  std::array<Host*, 2> hosts{};
  /// When each host runs its engine next; kNever when nothing calls for it.
  std::array<Time, 2> run_at{};
  Time faults_stopped = transport::kNever;

  Host& host(Side side) { return *hosts[index(side)]; }
  Time now() const { return clock.now(); }

  /// An application did something that the engine should look at.
  void ring(Side side) { run_at[index(side)] = std::min(run_at[index(side)], clock.now()); }
};

}  // namespace urnic::sim
