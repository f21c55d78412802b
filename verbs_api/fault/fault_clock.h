// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FaultClock: raises events when their time comes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "transport/result.h"

namespace urnic::verbs_api {

/// What is to happen when its time comes: an event, or its end.
struct FaultMoment {
  std::size_t event;
  bool is_end;
};

/// One thread, with all signals blocked, that sleeps until the next moment. Any thread.
class FaultClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Called on the clock's thread, with no lock of the clock held.
  using Raise = std::function<void(const FaultMoment&)>;

  /// The error is the thread's.
  static Result<std::unique_ptr<FaultClock>, Error> start(Raise raise);
  /// Waits while it is in the owner's function.
  ~FaultClock();
  FaultClock(const FaultClock&) = delete;
  FaultClock& operator=(const FaultClock&) = delete;

  void add(Time due, const FaultMoment& moment);

  /// In the child of a fork, which has no such thread: gives up `clock` for lost.
  static void abandon_after_fork(std::unique_ptr<FaultClock> clock) { static_cast<void>(clock.release()); }

 private:
  explicit FaultClock(Raise raise) : raise_(std::move(raise)) {}
  void run();

  Raise raise_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopped_ = false;
  std::multimap<Time, FaultMoment> moments_;
  std::thread thread_;
};

}  // namespace urnic::verbs_api
