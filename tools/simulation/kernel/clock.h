// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Clock: the clock of a world whose time is virtual.
#pragma once

#include <atomic>
#include <cassert>

#include "nic/clock.h"

namespace urnic::kernel {

/// Stands still until its world, or a test, moves it. One thread moves it, any may look at it.
class Clock final : public nic::Clock {
 public:
  explicit Clock(transport::Duration start = {}) : now_(transport::Time(start)) {}

  transport::Time now() const override {
    if (step_ != transport::Duration(0)) now_ = now_.load(std::memory_order_relaxed) + step_;
    return now_.load(std::memory_order_relaxed);
  }

  void advance_to(transport::Time time) {
    assert(time >= now_.load());
    now_ = time;
  }
  void advance(transport::Duration duration) { now_ = now_.load() + duration; }

  /// From now on every look at the clock moves it. For the end of a world, which has one thread: a device
  /// that waits for its peer (Device::linger) must see its patience run out.
  void run_by_itself(transport::Duration step) { step_ = step; }

 private:
  mutable std::atomic<transport::Time> now_;
  transport::Duration step_{0};
};

}  // namespace urnic::kernel
