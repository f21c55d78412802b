// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CqLedger: how many completions of sends may come into a completion queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// Any thread.
class CqLedger {
 public:
  /// `entries` as the program has requested them. `complaints` outlives it.
  CqLedger(std::string name, std::uint32_t entries, Complaints& complaints)
      : name_(std::move(name)), entries_(entries), complaints_(complaints) {}

  const std::string& name() const { return name_; }

  /// As many signaled requests as that were posted, or are done (negative).
  void expect(std::int64_t change);
  /// The program polls, and finds so many.
  void check_waiting(std::uint32_t waiting);
  void resized(std::uint32_t entries) { entries_.store(entries, std::memory_order_relaxed); }

 private:
  std::string name_;
  std::atomic<std::uint32_t> entries_;
  Complaints& complaints_;
  std::atomic<std::int64_t> expected_{0};
};

}  // namespace urnic::verbs_api
