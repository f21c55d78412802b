// ManualClock: time that only moves when a test says so.
#pragma once

#include <chrono>

#include "nic/clock.h"

namespace urnic::nic {

class ManualClock final : public Clock {
 public:
  transport::Time now() const override { return now_; }
  void advance(transport::Duration duration) { now_ += duration; }

 private:
  transport::Time now_{std::chrono::hours(1)};
};

}  // namespace urnic::nic
