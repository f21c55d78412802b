#include "nic/clock.h"

#include <chrono>

namespace urnic::nic {

transport::Time SteadyClock::now() const {
  return transport::Time(std::chrono::steady_clock::now().time_since_epoch());
}

std::chrono::nanoseconds SteadyClock::wall_time() const {
  return std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace urnic::nic
