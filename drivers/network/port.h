// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Port: the state of one end of a link. Network's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/network/counters.h"
#include "drivers/network/egress_queues.h"
#include "drivers/network/ring.h"
#include "drivers/network/routes.h"
#include "drivers/network/ticks.h"

namespace urnic::network {

/// A set of priorities: bit N.
using PrioritySet = std::uint8_t;

constexpr bool contains(PrioritySet set, unsigned priority) {
  return (set >> priority & 1u) != 0;
}
constexpr PrioritySet with(PrioritySet set, unsigned priority, bool is_in) {
  const unsigned bit = 1u << priority;
  return static_cast<PrioritySet>(is_in ? set | bit : set & ~bit);
}

struct Port {
  /// On its way to the other end of the link.
  struct InFlight {
    Ticks arrival = 0;
    Frame* frame = nullptr;
    unsigned priority = 0;
  };

  /// Kept by a fault until later frames have gone first.
  struct Held {
    Frame* frame = nullptr;
    unsigned priority = 0;
    std::uint32_t frames_to_go = 0;
  };

  explicit Port(const Profile& treats) : profile(&treats), queues(treats) {}

  // What never changes.
  PortId id{};
  Node node{};
  const Profile* profile;  // of the switch; of the neighbor for a host
  std::size_t place = 0;   // among the ports of a switch
  std::uint64_t rate_bps = 0;
  Ticks delay = 0;
  Ticks quantum = 0;         // of pause
  PrioritySet lossless = 0;  // which obey pauses

  // Sending.
  EgressQueues queues;
  Ring<InFlight> wire;
  bool has_faults = false;     // then also:
  std::vector<InFlight> late;  // delayed by faults, by the time of their arrival
  std::vector<Held> held;
  Ticks busy_until = 0;
  bool is_waking = false;  // an event is due that sends what waits
  bool is_up = true;
  std::uint32_t generation = 0;  // one more whenever the link goes down

  // Pauses that the neighbor asked for.
  std::array<Ticks, kPriorities> paused_until{};
  std::array<Ticks, kPriorities> paused_since{};
  // The watchdog: since when a queue that has frames has been paused, or kNoTicks.
  std::array<Ticks, kPriorities> stalled_since{};
  PrioritySet watched = 0;    // an event is due that looks
  PrioritySet discarded = 0;  // takes nothing until kWatchdogRestore

  // Pauses that are asked of the neighbor.
  PrioritySet xoff = 0;
  PrioritySet pause_due = 0;  // the next pause frame names them
  std::array<Ticks, kPriorities> refresh_at{};

  PortCounters counters{};

  bool has_something_to_send() const { return pause_due != 0 || queues.can_send(); }
};

}  // namespace urnic::network
