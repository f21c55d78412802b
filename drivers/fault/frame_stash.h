// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FrameStash: copies of frames that leave later than they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/time.h"

namespace urnic::drivers {

/// Bounded; nothing allocates after construction.
class FrameStash {
 public:
  static constexpr std::size_t kSlots = 128;

  explicit FrameStash(std::size_t max_frame_bytes, std::size_t slots = kSlots);

  /// When a frame becomes due: after `gap` calls of pass(), and not before `earliest`.
  struct When {
    std::uint32_t gap = 0;
    transport::Time earliest{};
  };
  /// Copies a frame. Returns the copy, to be changed at will before the next call, or nothing when all slots
  /// are taken.
  std::span<std::byte> add(std::span<const std::byte> frame, When when);

  /// A frame goes by those that wait.
  void pass();

  bool has_due(transport::Time now) const { return first_due(now) != nullptr; }
  /// Of the frames that are due the one that became so by time first, or else the longest held; empty when
  /// none is.
  std::span<const std::byte> due(transport::Time now) const;
  /// Takes that one. Its bytes stay valid until release_taken().
  std::optional<std::span<const std::byte>> take_due(transport::Time now);
  /// Moves that one after all others that are due.
  void put_off_due(transport::Time now);
  /// Frames that wait.
  std::size_t held() const { return held_; }
  /// When the next frame becomes due, by time alone; kNever when none does.
  transport::Time next_due() const;
  void release_taken();

 private:
  enum class State : std::uint8_t { kFree, kHeld, kTaken };
  struct Slot {
    State state = State::kFree;
    std::uint32_t frames_to_go = 0;
    transport::Time earliest{};
    std::uint64_t order = 0;
    std::size_t length = 0;

    bool waits_for_time_alone() const { return state == State::kHeld && frames_to_go == 0; }
  };

  const Slot* first_due(transport::Time now) const;
  Slot& mutable_slot(const Slot& slot) { return slots_[static_cast<std::size_t>(&slot - slots_.data())]; }
  std::byte* memory_of(const Slot& slot) const {
    return memory_.get() + static_cast<std::size_t>(&slot - slots_.data()) * max_frame_bytes_;
  }

  std::size_t max_frame_bytes_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t held_ = 0;  // slots in each of these states; mostly none
  std::size_t taken_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace urnic::drivers
