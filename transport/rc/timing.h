// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The encoded times of a reliable connection.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "transport/time.h"

namespace urnic::transport {

/// Local ACK timeout: 4.096 us x 2^code. `code` 1..31; 0 means none (fact 36).
constexpr Duration ack_timeout(std::uint8_t code) {
  return std::chrono::nanoseconds(std::int64_t{4096} << code);
}

/// How long a requester waits after an RNR NAK, for timer codes 0..31, in units of 10 us (fact 35).
inline constexpr std::array<std::uint32_t, 32> kRnrTimerTensOfMicroseconds = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr Duration rnr_timer(std::uint8_t code) {
  return std::chrono::microseconds(std::int64_t{10} * kRnrTimerTensOfMicroseconds[code & 0x1f]);
}

}  // namespace urnic::transport
