// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OneAtATime: notices that two threads use an object at once.
#pragma once

#include <atomic>

namespace urnic::verbs_api {

/// Any thread.
class OneAtATime {
 public:
  /// Whether no other thread is within.
  bool enter() { return within_.fetch_add(1, std::memory_order_relaxed) == 0; }
  void leave() { within_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  std::atomic<int> within_{0};
};

}  // namespace urnic::verbs_api
