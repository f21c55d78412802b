// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EventQueue: what happens next in a virtual world.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "transport/time.h"

namespace urnic::kernel {

/// Events by their `time`, and at the same time in the order in which they were added, so that every run is
/// the same.
template <typename Event>
class EventQueue {
 public:
  void add(Event event) {
    heap_.push_back({.event = std::move(event), .sequence = next_sequence_++});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  bool is_empty() const { return heap_.empty(); }
  /// kNever when there is none.
  transport::Time next_time() const { return heap_.empty() ? transport::kNever : heap_.front().event.time; }

  /// Removes the first event; there must be one.
  Event take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event event = std::move(heap_.back().event);
    heap_.pop_back();
    return event;
  }

 private:
  struct Entry {
    Event event;
    std::uint64_t sequence = 0;
  };

  static bool later(const Entry& a, const Entry& b) {
    return a.event.time != b.event.time ? a.event.time > b.event.time : a.sequence > b.sequence;
  }

  std::vector<Entry> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace urnic::kernel
