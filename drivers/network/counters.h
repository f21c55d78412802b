// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters of the network: by port and priority.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drivers/network/topology.h"

namespace urnic::network {

/// Why the network has lost a frame. It is counted at the port where the frame would have been queued, was
/// queued, or was sent; kNoWay and kNotForwarded where it came in.
enum class DropReason : std::uint8_t {
  kTailDrop,    ///< the queue was at its limit
  kBufferFull,  ///< the shared buffer of the switch was full
  kHeadroomFull,  ///< a lossless frame came although its sender was, or ought to be, paused, and the headroom was full
  kNotEct,  ///< it was to be marked, says that its transport knows no ECN, and the profile drops such frames
  kWatchdog,      ///< the pause watchdog emptied the queue, or it takes nothing yet
  kLinkDown,      ///< it was sent on, was on, or waited for a link that was down
  kNoWay,         ///< no links that are up lead to its host
  kFault,         ///< a fault of the link took it
  kNotForwarded,  ///< for where it came from, for the neighbor alone (01:80:c2:00:00:0x), or for all along a tree that links have changed since
};
inline constexpr std::size_t kDropReasons = 9;

/// A counter's name, of static storage: "tail_drop".
constexpr std::string_view to_string(DropReason reason) {
  switch (reason) {
    case DropReason::kTailDrop:
      return "tail_drop";
    case DropReason::kBufferFull:
      return "buffer_full";
    case DropReason::kHeadroomFull:
      return "headroom_full";
    case DropReason::kNotEct:
      return "not_ect";
    case DropReason::kWatchdog:
      return "watchdog";
    case DropReason::kLinkDown:
      return "link_down";
    case DropReason::kNoWay:
      return "no_way";
    case DropReason::kFault:
      return "fault";
    case DropReason::kNotForwarded:
      return "not_forwarded";
  }
  return "";
}

/// Of one priority at one port. Bytes are counted without the FCS. Pause frames are not counted as frames.
struct PriorityCounters {
  std::uint64_t sent_frames = 0;  ///< whose sending has begun
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_frames = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t marked_frames = 0;  ///< at this egress port
  std::array<std::uint64_t, kDropReasons> dropped_frames{};
  std::uint64_t pauses_sent = 0;      ///< XOFFs and XONs that name this priority, refreshed ones included
  std::uint64_t pauses_received = 0;  ///< likewise
  Duration paused_time{};             ///< in which this port was not to send
  std::uint64_t watchdog_fired = 0;
  std::uint64_t highest_queue_bytes = 0;

  std::uint64_t dropped(DropReason reason) const { return dropped_frames[static_cast<std::size_t>(reason)]; }
  std::uint64_t all_dropped() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : dropped_frames) sum += count;
    return sum;
  }
};

using PortCounters = std::array<PriorityCounters, kPriorities>;

}  // namespace urnic::network
