// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How long the connection manager waits.
#pragma once

#include <chrono>
#include <cstdint>

#include "transport/time.h"

namespace urnic::nic::cm {

/// 4.096 us x 2^code; `code` has 5 bits.
constexpr transport::Duration timeout_of(std::uint8_t code) {
  return std::chrono::nanoseconds(std::int64_t{4096} << (code & 31u));
}

/// What Linux' rdma_cm promises its peers and expects of them: an answer within 4.3 s (fact 45).
inline constexpr std::uint8_t kResponseTimeout = 20;
/// And how often it repeats a message (fact 45).
inline constexpr std::uint8_t kMaxRetries = 15;
/// What it says in an MRA: 69 s (CM.md 3).
inline constexpr std::uint8_t kServiceTimeout = 24;
/// The path's, as newer kernels have it: 0.27 s (CM.md 2).
inline constexpr std::uint8_t kPacketLifeTime = 16;
/// The ACK timeout that goes with it: there and back.
inline constexpr std::uint8_t kAckTimeout = kPacketLifeTime + 1;
/// How long an answer is remembered that a peer may ask for again.
inline constexpr transport::Duration kAnswerLifetime = 3 * timeout_of(kResponseTimeout);

}  // namespace urnic::nic::cm
