#include "nic/clock.h"

#include <chrono>

namespace urnic::nic {

transport::Time SteadyClock::now() const {
  return transport::Time(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace urnic::nic
