// Network: the hostile wire between the two hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/sim/clock.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/options.h"
#include "tests/sim/random.h"

namespace urnic::sim {

/// How often each fault was injected.
struct FaultCounts {
  std::uint64_t lost = 0;
  std::uint64_t lost_in_blackout = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t truncated = 0;
  std::uint64_t padded = 0;
};

/// Takes frames from either side and adds the events of their delivery. A damaged frame always has a flipped bit
/// that its ICRC protects, or lost its end: a receiver that accepts one is wrong. ARP and neighbour discovery have
/// no such protection without the Ethernet FCS that the medium would check, so their frames are lost where others are
/// damaged.
class Network {
 public:
  Network(const Options& options, const SimClock& clock, EventQueue& events, FramePool& frames);

  void send(Side from, std::span<const std::byte> bytes);

  /// From now on frames are only delayed. Those on their way stay as they are.
  void stop_faults() { faults_on_ = false; }

  const FaultCounts& faults() const { return counts_; }

 private:
  struct Direction {
    LinkOptions options;
    Random random;
    Time link_free{};       // when the last frame has left the sender
    Time last_delivery{};   // of frames that keep their order
    Time blackout_until{};
  };

  /// Whether the frame disappears.
  bool is_lost(Direction& direction);
  /// `late` is added to the usual delay, and the frame then keeps no order.
  void deliver(Side from, std::span<const std::byte> bytes, Time sent, Duration late = Duration(0));
  void damage(Frame& frame, Random& random, const FaultRates& faults);

  const SimClock& clock_;
  EventQueue& events_;
  FramePool& frames_;
  bool faults_on_ = true;
  std::array<Direction, 2> directions_;
  FaultCounts counts_;
};

}  // namespace urnic::sim
