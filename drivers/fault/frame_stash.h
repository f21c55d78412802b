// FrameStash: copies of frames that leave later than they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace urnic::drivers {

/// Bounded; nothing allocates after construction.
class FrameStash {
 public:
  static constexpr std::size_t kSlots = 128;

  explicit FrameStash(std::size_t max_frame_bytes);

  /// Copies a frame, to become due after `gap` calls of pass(), at once for 0. Returns the copy, to be
  /// changed at will before the next call, or nothing when all slots are taken.
  std::span<std::byte> add(std::span<const std::byte> frame, std::uint32_t gap);

  /// A frame goes by those that wait.
  void pass();

  bool has_due() const;
  /// The longest held of the frames that are due; empty when none is.
  std::span<const std::byte> due() const;
  /// Takes that one. Its bytes stay valid until release_taken().
  std::optional<std::span<const std::byte>> take_due();
  void release_taken();

 private:
  enum class State : std::uint8_t { kFree, kHeld, kTaken };
  struct Slot {
    State state = State::kFree;
    std::uint32_t frames_to_go = 0;
    std::uint64_t order = 0;
    std::size_t length = 0;

    bool is_due() const { return state == State::kHeld && frames_to_go == 0; }
  };

  const Slot* oldest_due() const;
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
