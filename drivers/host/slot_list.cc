// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/slot_list.h"

#include <cassert>

namespace urnic::drivers {

std::optional<unsigned> SlotList::take_rested(Time now) {
  if (free_.empty() || now - free_.front().since < kRest) return std::nullopt;
  return take_tired();
}

std::optional<unsigned> SlotList::next_new() const {
  return used_ < kLast ? std::optional(used_ + 1) : std::nullopt;
}

unsigned SlotList::take_new() {
  assert(used_ < kLast);
  return ++used_;
}

bool SlotList::take(unsigned slot, Time now) {
  assert(slot > 0 && slot <= kLast);
  if (slot > used_) {
    while (++used_ < slot) give_back(used_, now);
    return true;
  }
  return std::erase_if(free_, [slot](const Free& free) { return free.slot == slot; }) > 0;
}

std::optional<unsigned> SlotList::take_tired() {
  if (free_.empty()) return std::nullopt;
  const unsigned slot = free_.front().slot;
  free_.pop_front();
  return slot;
}

}  // namespace urnic::drivers
