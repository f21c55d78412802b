// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RetrySchedule: ACK timeouts that are not all of one length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/time.h"

namespace urnic::transport {

/// What some NICs do in place of waiting as long each time as `timeout` says, as often as `retry_cnt` says.
struct RetrySchedule {
  static constexpr std::size_t kMost = 20;

  /// How long the requester waits for an acknowledgement: the first time after a progress, the second time,
  /// and so on. After the last of them it gives up.
  std::array<Duration, kMost> waits{};
  std::uint8_t count = 0;  ///< of waits; at least 1 where it is used
  /// How many waits end with sending again; after the others, which follow them, it only waits on.
  std::uint8_t sending = kMost;
  /// How many waits come before the regular ones: what is sent again after them is counted apart.
  std::uint8_t early = 0;
};

}  // namespace urnic::transport
