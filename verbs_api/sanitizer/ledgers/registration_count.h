// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RegistrationCount: how much a program registers, and how often.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// The owner guards it.
class RegistrationCount {
 public:
  /// Of the process, in any second: so often memory is not registered for good.
  static constexpr unsigned kMostPerSecond = 1000;

  explicit RegistrationCount(Complaints& complaints) : complaints_(complaints) {}

  void set_pin_limit(std::uint64_t bytes) { pin_limit_ = bytes; }

  /// `pinned` is in bytes.
  void add(std::uint64_t pinned, std::chrono::steady_clock::time_point now);
  void remove(std::uint64_t pinned);
  std::uint64_t pinned() const { return pinned_; }

 private:
  Complaints& complaints_;
  std::uint64_t pin_limit_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t pinned_ = 0;
  std::chrono::steady_clock::time_point second_begins_{};
  unsigned added_ = 0;    // in this second
  unsigned removed_ = 0;  // likewise
};

}  // namespace urnic::verbs_api
