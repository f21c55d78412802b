// Clock: where the engine gets the time from.
#pragma once

#include "transport/time.h"

namespace urnic::nic {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic. Any thread.
  virtual transport::Time now() const = 0;
};

/// CLOCK_MONOTONIC.
class SteadyClock final : public Clock {
 public:
  transport::Time now() const override;
};

}  // namespace urnic::nic
