// SimClock: the one clock of a simulated world.
#pragma once

#include <cassert>

#include "nic/clock.h"

namespace urnic::sim {

/// Stands still until the simulator moves it.
class SimClock final : public nic::Clock {
 public:
  transport::Time now() const override {
    now_ += step_;
    return now_;
  }

  void advance_to(transport::Time time) {
    assert(time >= now_);
    now_ = time;
  }

  /// From now on every look at the clock moves it. For the end of a world, where a device that waits for its
  /// peer (Device::linger) must see its patience run out.
  void run_by_itself(transport::Duration step) { step_ = step; }

 private:
  mutable transport::Time now_{};
  transport::Duration step_{0};
};

}  // namespace urnic::sim
