// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Scene: what the parts of one simulated world share.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/checks/coverage.h"
#include "tools/simulation/seeds/checks/wire_observer.h"
#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/core/referee.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

class Host;
class SharedReceives;
class VolatileKey;

/// A host, and when its engine runs.
struct Machine {
  std::unique_ptr<Host> host;
  std::unique_ptr<VolatileKey> volatile_key;
  std::vector<std::unique_ptr<SharedReceives>>
      shared_receives;  // by number; without receives when there is no queue
  /// When the engine runs next because something happened; kNever when nothing calls for it.
  Time run_at{};
  /// When it must run for a timer, as the device said after it had run last.
  Time timer_at = transport::kNever;
  /// It cannot run before: it is at work, or stalled.
  Time busy_until{};
};

struct Scene {
  const Options& options;
  kernel::Clock& clock;
  EventQueue& events;
  Referee& referee;
  WireObserver& observer;
  Coverage& coverage;
  /// Of what the applications decide while the world runs.
  Random& random;
  std::vector<Machine> machines{};
  Time faults_stopped = transport::kNever;

  Machine& machine(HostId host) { return machines[index(host)]; }
  Host& host(HostId id) { return *machine(id).host; }
  /// Where an end of a pair is.
  HostId host_of(std::uint32_t pair, Side side) const { return options.host_of(pair, side); }
  Time now() const { return clock.now(); }

  /// An application did something that the engine should look at.
  void ring(HostId host) { machine(host).run_at = std::min(machine(host).run_at, clock.now()); }
};

}  // namespace urnic::sim
