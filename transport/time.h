// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Time as the transport knows it: a point on the caller's clock, passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>

namespace urnic::transport {

/// The clock of everything below `nic`. It has no now(): the caller of the transport (the engine, the
/// simulator, a test) says what time it is, so that the same inputs always give the same outputs.
struct VirtualClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<VirtualClock>;
  static constexpr bool is_steady = true;
};

using Duration = VirtualClock::duration;  ///< nanoseconds
using Time = VirtualClock::time_point;    ///< nanoseconds since an epoch that only the driver knows

/// Later than every deadline.
inline constexpr Time kNever = Time::max();

}  // namespace urnic::transport
