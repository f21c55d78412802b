// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ticks: time inside the model, finer than a nanosecond.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "transport/time.h"

namespace urnic::network {

/// Tens of picoseconds since the network began. A byte takes a whole number of them at every rate of Ethernet
/// from 10 Mb/s to 800 Gb/s, so that back-to-back frames accumulate no error; at other rates a frame's time
/// is rounded. They last for 2.9 years.
using Ticks = std::int64_t;

inline constexpr Ticks kTicksPerNanosecond = 100;
inline constexpr std::uint64_t kTicksPerSecond = 100'000'000'000;
/// Later than every event.
inline constexpr Ticks kNoTicks = std::numeric_limits<Ticks>::max();

/// The first tick of that nanosecond; what is too far away is kNoTicks.
constexpr Ticks to_ticks(transport::Duration duration) {
  constexpr std::int64_t kLast = kNoTicks / kTicksPerNanosecond - 1;
  if (duration.count() > kLast) return kNoTicks;
  return std::max<std::int64_t>(duration.count(), 0) * kTicksPerNanosecond;
}

/// The nanosecond that the tick lies in.
constexpr transport::Duration to_duration(Ticks ticks) {
  return transport::Duration(ticks / kTicksPerNanosecond);
}

/// How long so many bits take, to the nearest tick. At most 10^8 bits.
constexpr Ticks bit_ticks(std::uint64_t bits, std::uint64_t rate_bps) {
  return static_cast<Ticks>((bits * kTicksPerSecond + rate_bps / 2) / rate_bps);
}

/// What a frame takes of a link beside its own bytes: preamble and start of frame, FCS, interframe gap.
inline constexpr std::size_t kPreambleBytes = 8;
inline constexpr std::size_t kFcsBytes = 4;
inline constexpr std::size_t kGapBytes = 12;
/// Shorter frames are padded to this, without FCS.
inline constexpr std::size_t kMinFrameBytes = 60;

/// Bytes that a frame of `bytes` bytes without FCS takes of a link.
constexpr std::size_t wire_bytes(std::size_t bytes) {
  return std::max(bytes, kMinFrameBytes) + kPreambleBytes + kFcsBytes + kGapBytes;
}

}  // namespace urnic::network
