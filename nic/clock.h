// Clock: where the engine gets the time from.
#pragma once

#include <chrono>

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
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME.
class SteadyClock final : public Clock {
 public:
  transport::Time now() const override;
  std::chrono::nanoseconds wall_time() const override;
};

}  // namespace urnic::nic
