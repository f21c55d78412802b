// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SlotList: which slots of a host's NIC are in use.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

namespace urnic::drivers {

/// Slots 1 to 255 are for processes, and are opened one after the other. Peers may still send to a process
/// that has ended, so its slot rests before the next process gets it, if another slot is available.
class SlotList {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr unsigned kLast = 255;
  static constexpr auto kRest = std::chrono::seconds(10);

  /// The slot that was given back longest ago, if that is kRest or more.
  std::optional<unsigned> take_rested(Time now);
  /// The next one that was never in use, which take_new() takes; nothing when all were.
  std::optional<unsigned> next_new() const;
  unsigned take_new();
  /// That slot, which a process has from an earlier switch; false when another one has it by now. Slots
  /// before it that were never in use rest, too: other processes may have them likewise.
  bool take(unsigned slot, Time now);
  /// The slot that was given back longest ago.
  std::optional<unsigned> take_tired();

  void give_back(unsigned slot, Time now) { free_.push_back({.slot = slot, .since = now}); }

 private:
  struct Free {
    unsigned slot = 0;
    Time since;
  };

  unsigned used_ = 0;      // slots up to this one were in use
  std::deque<Free> free_;  // in the order in which they were given back
};

}  // namespace urnic::drivers
