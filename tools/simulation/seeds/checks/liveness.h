// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Liveness: the oracle that knows how long a world may go without getting on, and how long it may go on
// talking.
#pragma once

#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/core/referee.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

class Liveness {
 public:
  Liveness(const Options& options, const kernel::Clock& clock, Referee& referee)
      : options_(options), clock_(clock), referee_(referee) {}

  /// However bad the network is, some queue pair must get on within the longest of all waits.
  void check_progress();

  /// Everything has completed: late duplicates are still answered for a while, then no NIC sends anything.
  void begin_silence();
  /// When the silence has lasted long enough.
  Time silence_ends() const { return quiet_from_ + 4 * options_.effective_ack_timeout(); }
  void judge_silence(Time last_frame);

 private:
  const Options& options_;
  const kernel::Clock& clock_;
  Referee& referee_;
  Time quiet_from_{};
};

}  // namespace urnic::sim
