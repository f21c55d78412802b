// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/frame_stash.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace urnic::drivers {

using transport::Time;

FrameStash::FrameStash(std::size_t max_frame_bytes, std::size_t slots)
    : max_frame_bytes_(max_frame_bytes),
      slots_(slots),
      memory_(std::make_unique_for_overwrite<std::byte[]>(slots * max_frame_bytes)) {}

std::span<std::byte> FrameStash::add(std::span<const std::byte> frame, When when) {
  assert(frame.size() <= max_frame_bytes_);
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [](const Slot& each) { return each.state == State::kFree; });
  if (slot == slots_.end()) return {};
  *slot = Slot{.state = State::kHeld,
               .frames_to_go = when.gap,
               .earliest = when.earliest,
               .order = next_order_++,
               .length = frame.size()};
  ++held_;
  std::memcpy(memory_of(*slot), frame.data(), frame.size());
  return {memory_of(*slot), frame.size()};
}

void FrameStash::pass() {
  if (held_ == 0) return;
  for (Slot& slot : slots_) {
    if (slot.state == State::kHeld && slot.frames_to_go > 0) --slot.frames_to_go;
  }
}

const FrameStash::Slot* FrameStash::first_due(Time now) const {
  if (held_ == 0) return nullptr;
  const auto comes_first = [](const Slot& one, const Slot& other) {
    return one.earliest != other.earliest ? one.earliest < other.earliest : one.order < other.order;
  };
  const Slot* first = nullptr;
  for (const Slot& slot : slots_) {
    const bool is_due = slot.waits_for_time_alone() && slot.earliest <= now;
    if (is_due && (first == nullptr || comes_first(slot, *first))) first = &slot;
  }
  return first;
}

Time FrameStash::next_due() const {
  Time next = transport::kNever;
  if (held_ == 0) return next;
  for (const Slot& slot : slots_) {
    if (slot.waits_for_time_alone()) next = std::min(next, slot.earliest);
  }
  return next;
}

std::span<const std::byte> FrameStash::due(Time now) const {
  const Slot* const slot = first_due(now);
  if (slot == nullptr) return {};
  return {memory_of(*slot), slot->length};
}

std::optional<std::span<const std::byte>> FrameStash::take_due(Time now) {
  const Slot* const first = first_due(now);
  if (first == nullptr) return std::nullopt;
  mutable_slot(*first).state = State::kTaken;
  --held_;
  ++taken_;
  return std::span<const std::byte>(memory_of(*first), first->length);
}

void FrameStash::put_off_due(Time now) {
  const Slot* const first = first_due(now);
  if (first == nullptr) return;
  Slot& slot = mutable_slot(*first);
  slot.earliest = now;
  slot.order = next_order_++;
}

void FrameStash::release_taken() {
  if (taken_ == 0) return;
  for (Slot& slot : slots_) {
    if (slot.state == State::kTaken) slot.state = State::kFree;
  }
  taken_ = 0;
}

}  // namespace urnic::drivers
