// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Path: how frames get from the wires of their senders to their receivers.
#pragma once

#include <cstddef>
#include <optional>

#include "tools/simulation/seeds/core/event.h"

namespace urnic::sim {

/// One frame for one host. A frame for all hosts makes a trip to each of them.
struct Trip {
  HostId from{};
  HostId to{};
  Time time{};                   ///< when it comes off its sender's wire
  bool keeps_order = true;       ///< false: a fault made it late, and others may overtake it
  std::size_t bytes = 0;         ///< its length when it was sent; a fault may have changed it since
  std::optional<Frame> frame{};  ///< none: it takes its time on the way, and no receiver can read it
};

/// Chosen when a world is made. A frame that it delivers is an event.
class Path {
 public:
  virtual ~Path() = default;

  virtual void carry(Trip trip) = 0;
  /// An event kEnter that this path has added.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those that override it keep the frame
  virtual void enter([[maybe_unused]] HostId from, [[maybe_unused]] Frame frame) {}

  /// When something happens inside that is not an event of the world; kNever when nothing will.
  virtual Time next_event() const { return transport::kNever; }
  virtual void run_until([[maybe_unused]] Time now) {}

  /// Whether it takes a longest frame from there now, as an Ethernet port that may be paused does or does
  /// not.
  virtual bool has_room([[maybe_unused]] HostId from) const { return true; }
  /// From now on nothing is lost and nothing waits for a queue.
  virtual void stop_faults() {}
};

}  // namespace urnic::sim
