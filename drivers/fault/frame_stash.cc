#include "drivers/fault/frame_stash.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace urnic::drivers {

FrameStash::FrameStash(std::size_t max_frame_bytes)
    : max_frame_bytes_(max_frame_bytes),
      slots_(kSlots),
      memory_(std::make_unique_for_overwrite<std::byte[]>(kSlots * max_frame_bytes)) {}

std::span<std::byte> FrameStash::add(std::span<const std::byte> frame, std::uint32_t gap) {
  assert(frame.size() <= max_frame_bytes_);
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [](const Slot& each) { return each.state == State::kFree; });
  if (slot == slots_.end()) return {};
  *slot = Slot{.state = State::kHeld, .frames_to_go = gap, .order = next_order_++, .length = frame.size()};
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

bool FrameStash::has_due() const {
  return held_ > 0 &&
         std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.is_due(); });
}

const FrameStash::Slot* FrameStash::oldest_due() const {
  if (held_ == 0) return nullptr;
  const Slot* oldest = nullptr;
  for (const Slot& slot : slots_) {
    if (slot.is_due() && (oldest == nullptr || slot.order < oldest->order)) oldest = &slot;
  }
  return oldest;
}

std::span<const std::byte> FrameStash::due() const {
  const Slot* const slot = oldest_due();
  if (slot == nullptr) return {};
  return {memory_of(*slot), slot->length};
}

std::optional<std::span<const std::byte>> FrameStash::take_due() {
  const Slot* const oldest = oldest_due();
  if (oldest == nullptr) return std::nullopt;
  slots_[static_cast<std::size_t>(oldest - slots_.data())].state = State::kTaken;
  --held_;
  ++taken_;
  return std::span<const std::byte>(memory_of(*oldest), oldest->length);
}

void FrameStash::release_taken() {
  if (taken_ == 0) return;
  for (Slot& slot : slots_) {
    if (slot.state == State::kTaken) slot.state = State::kFree;
  }
  taken_ = 0;
}

}  // namespace urnic::drivers
