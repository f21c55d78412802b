// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace urnic::nic {

#if defined(__x86_64__)

std::uint64_t SteadyClock::ticks() const {
  return __builtin_ia32_rdtsc();
}

#elif defined(__aarch64__)

// The counter of the virtual timer, whose rate the firmware chooses: from 24 MHz to 1 GHz.
std::uint64_t SteadyClock::ticks() const {
  static const std::uint64_t factor = [] {
    constexpr std::uint64_t kRate = 3'000'000'000;
    std::uint64_t rate = 0;
    asm("mrs %0, cntfrq_el0" : "=r"(rate));
    return rate == 0 ? 1 : std::max<std::uint64_t>(kRate / rate, 1);
  }();
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count * factor;
}

#else

std::uint64_t SteadyClock::ticks() const {
  return Clock::ticks();
}

#endif

transport::Time SteadyClock::now() const {
  return transport::Time(std::chrono::steady_clock::now().time_since_epoch());
}

std::chrono::nanoseconds SteadyClock::wall_time() const {
  return std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace urnic::nic
