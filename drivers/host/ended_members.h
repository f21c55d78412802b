// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EndedMembers: processes that were members of the switch, and what their peers are told for them.
#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/host/farewells.h"
#include "drivers/host/slot_list.h"

namespace urnic::drivers {

/// A process may close its connection to the switch and live on: only of one that has ended is it known that
/// no answer will come. Where the switch cannot know it, the end of the connection counts.
class EndedMembers {
 public:
  using Time = Farewells::Time;
  using Send = std::function<void(std::span<const std::byte>)>;

  /// The connection is over. `process` becomes readable once it has ended, and is none where that cannot be
  /// known; `last_words` is its file of them, if any.
  void on_leave(unsigned slot, Descriptor process, Descriptor last_words, Time now);
  /// The slot is another process's now.
  void on_join(unsigned slot) { ended_.reset(slot); }

  /// Looks who has ended, and gives `send` what is due for them. `is_taken` says of a slot whether a member
  /// has it.
  void on_timeout(Time now, const std::function<bool(unsigned slot)>& is_taken, const Send& send);
  /// When on_timeout() has something to do.
  std::optional<Time> next_timeout(Time now) const;

  /// An IP packet for the slot has come, which no member has. Gives `send` the answer, if there is one.
  void on_packet(unsigned slot, std::span<const std::byte> packet, const Send& send);

 private:
  struct Leaving {
    unsigned slot = 0;
    Descriptor process;
    Descriptor last_words;
    Time give_up;
  };

  std::vector<Leaving> leaving_;
  Farewells farewells_;
  std::bitset<SlotList::kLast + 1> ended_;  // slots whose process has ended, and that are no other one's yet
};

}  // namespace urnic::drivers
