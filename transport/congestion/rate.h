// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rates, and how long bytes take at one.
#pragma once

#include <cstdint>
#include <limits>

#include "transport/time.h"

namespace urnic::transport::congestion {

using BitsPerSecond = std::uint64_t;

inline constexpr BitsPerSecond kMegabit = 1'000'000;
inline constexpr BitsPerSecond kUnlimited = std::numeric_limits<BitsPerSecond>::max();

/// Of at most 4 GB. Rounded up, so that nothing is sent faster than `rate`, which is not 0.
constexpr Duration time_on_wire(std::uint32_t bytes, BitsPerSecond rate) {
  if (rate == kUnlimited) return Duration::zero();
  constexpr std::uint64_t kBitNanosecondsOfByte = 8'000'000'000;
  const std::uint64_t work = bytes * kBitNanosecondsOfByte;
  return Duration(static_cast<Duration::rep>(work / rate + (work % rate != 0 ? 1 : 0)));
}

}  // namespace urnic::transport::congestion
