// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// World: one seed from its first event to its last.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulation/seeds/checks/coverage.h"
#include "tools/simulation/seeds/checks/liveness.h"
#include "tools/simulation/seeds/checks/wire_observer.h"
#include "tools/simulation/seeds/core/referee.h"
#include "tools/simulation/seeds/network/network.h"
#include "tools/simulation/seeds/scenario/options.h"
#include "tools/simulation/seeds/scenario/plan.h"
#include "tools/simulation/seeds/traffic/connection_traffic.h"
#include "tools/simulation/seeds/traffic/host.h"
#include "tools/simulation/seeds/traffic/overrun_traffic.h"
#include "tools/simulation/seeds/traffic/pair_driver.h"
#include "tools/simulation/seeds/traffic/scene.h"
#include "tools/simulation/seeds/traffic/shared_receives.h"
#include "tools/simulation/seeds/traffic/unreliable_traffic.h"
#include "tools/simulation/seeds/traffic/volatile_key.h"

namespace urnic::sim {

/// Hosts, a network and one clock. First the safety phase: faults happen and nothing wrong may be seen. When
/// enough operations have completed the faults stop, and then the liveness phase: all the rest must complete.
/// At the end the network must fall silent and every byte of memory be what it has to be.
class World {
 public:
  explicit World(const Options& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// One line per frame goes to `trace`; before run().
  void set_trace(std::FILE* trace) { observer_.set_trace(trace); }

  /// The first complaint, or nothing when all was well. Once.
  std::optional<Failure> run();

  const Coverage& coverage() const { return coverage_; }
  /// Equal for equal runs: of every frame, when it was sent and taken.
  std::uint64_t trace_hash() const { return observer_.trace_hash(); }
  /// When the last event happened, since the beginning of the world.
  Duration virtual_time() const { return clock_.now().time_since_epoch(); }

 private:
  void begin();
  /// Advances to the next thing that happens and does it; false when there is nothing any more.
  bool step();
  void handle(Event event);
  void run_host(HostId host);
  void poll_completions(HostId host);
  void deregister(HostId host);
  void post_shared(HostId host, std::size_t number);
  void check_memory();
  Time wake_time(const Machine& machine) const;
  bool is_done_except_connections() const;
  bool is_done() const;
  void maybe_stop_faults();
  void fall_silent();
  void judge_end();
  void watch_management(HostId host);
  void collect_coverage();
  void collect_faults();
  void collect_path();

  Options options_;
  Plans plans_;
  kernel::Clock clock_;
  EventQueue events_;
  Coverage coverage_;
  Referee referee_;
  Liveness liveness_;
  WireObserver observer_;
  Network network_;
  Random application_random_;
  Random schedule_random_;
  Scene scene_;
  std::vector<std::unique_ptr<Traffic>> traffic_;
  Traffic* connections_ = nullptr;  // the one that uses rdma_cm, if there is one
  std::vector<PairDriver*> pairs_;  // the ones that are connected pairs
  std::uint64_t steps_ = 0;
};

}  // namespace urnic::sim
