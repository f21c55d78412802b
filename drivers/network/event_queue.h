// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EventQueue: what happens next in the network.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drivers/network/ticks.h"

namespace urnic::network {

struct Event {
  enum class Kind : std::uint8_t {
    kSend,             ///< port `target` is free to send its next frame
    kArrive,           ///< the first frame on the wire from port `target` reaches the other end
    kArriveLate,       ///< a frame that a fault has delayed reaches the other end of port `target`
    kPauseEnd,         ///< a pause of port `target` may have run out
    kPauseRefresh,     ///< port `target` says again that it is to be paused
    kWatchdog,         ///< a queue of port `target` may have been paused for too long
    kWatchdogRestore,  ///< it takes frames again
    kLinkDown,         ///< link `target`
    kLinkUp,
  };

  Ticks time = 0;
  std::uint64_t sequence = 0;  // the queue's
  Kind kind = Kind::kSend;
  std::uint8_t priority = 0;
  std::uint32_t target = 0;
  std::uint32_t generation = 0;  ///< of the port: an event of before its link went down is void
};

/// Events by time. Events of the same time come in the order in which they were added, so that every run is
/// the same. A heap of four children per node: it is half as deep as a heap of two, and the children lie
/// beside each other in memory.
class EventQueue {
 public:
  void add(Event event) {
    event.sequence = next_sequence_++;
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kChildren;
      if (!is_before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  bool is_empty() const { return heap_.empty(); }
  /// kNoTicks when there is none.
  Ticks next_time() const { return heap_.empty() ? kNoTicks : heap_.front().time; }

  /// Removes the first event; there must be one.
  Event take() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink_from_top(last);
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;

  /// Without a branch, which the processor would guess wrongly half of the time.
  static bool is_before(const Event& one, const Event& other) {
    const bool is_earlier = one.time < other.time;
    const bool is_tie = one.time == other.time;
    return is_earlier | (is_tie & (one.sequence < other.sequence));
  }

  void sink_from_top(const Event& event) {
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = hole * kChildren + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(first + kChildren, heap_.size());
      std::size_t best = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        best = is_before(heap_[child], heap_[best]) ? child : best;
      }
      if (!is_before(heap_[best], event)) break;
      heap_[hole] = heap_[best];
      hole = best;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace urnic::network
