// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Clock: where the engine gets the time from.
#pragma once

#include <atomic>
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

/// The time of a wire that grants it: it stands still until the owner of the wire moves it.
class GrantedClock final : public Clock {
 public:
  transport::Time now() const override { return kBeginning + on_wire(); }
  /// The wire's own time, which begins with 0.
  std::chrono::nanoseconds wall_time() const override { return on_wire(); }

  transport::Duration on_wire() const { return transport::Duration(on_wire_.load()); }
  transport::Duration on_wire(transport::Time time) const { return time - kBeginning; }
  /// Never back. One thread at a time.
  void move_to(transport::Duration on_wire) { on_wire_.store(on_wire.count()); }

 private:
  /// What looks back some seconds must not meet the epoch, which means "never" in many places.
  static constexpr transport::Time kBeginning{std::chrono::hours(24)};

  std::atomic<transport::Duration::rep> on_wire_{0};
};

}  // namespace urnic::nic
