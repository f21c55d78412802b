// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Worker: a thread that does one action after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/stress/objects.h"

namespace urnic::stress {

class Worker {
 public:
  /// Starts at once.
  Worker(Objects& objects, std::uint64_t seed);
  /// Waits for the action that it is at.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void stop() { is_stopping_.store(true, std::memory_order_relaxed); }

  // Any thread may ask.
  std::uint64_t actions_done() const { return done_.load(std::memory_order_relaxed); }
  const char* at() const { return at_.load(std::memory_order_relaxed); }
  /// How often it has done the action of this place in all_actions().
  std::uint64_t count(std::size_t action) const { return counts_[action].load(std::memory_order_relaxed); }

 private:
  void run(Objects& objects, std::uint64_t seed);

  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<const char*> at_{"nothing"};
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::thread thread_;
};

}  // namespace urnic::stress
