// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Clock: where the engine gets the time from.
#pragma once

#include <chrono>
#include <cstdint>

#include "transport/time.h"

namespace urnic::nic {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic. Any thread.
  virtual transport::Time now() const = 0;
  /// Since the beginning of 1970, as people count it: it may jump. A clock that knows no such time gives its
  /// own.
  virtual std::chrono::nanoseconds wall_time() const { return now().time_since_epoch(); }
  /// For spans below a microsecond, where now() may take a large part of them: some three ticks are a
  /// nanosecond, on most processors. Two threads, or one that has moved to another processor, may see
  /// different times. Any thread.
  virtual std::uint64_t ticks() const {
    return static_cast<std::uint64_t>(now().time_since_epoch().count()) * 3;
  }
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME.
class SteadyClock final : public Clock {
 public:
  transport::Time now() const override;
  std::chrono::nanoseconds wall_time() const override;
  /// The processor's counter.
  std::uint64_t ticks() const override;
};

}  // namespace urnic::nic
