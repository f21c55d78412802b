// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FrameRing: frames on their way from one process to another, in memory that both of them see.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "nic/port/received_frame.h"

namespace urnic::drivers {

/// How large a ring is.
struct RingGeometry {
  std::uint32_t slots = 0;            ///< single frames that it holds; a power of two
  std::uint32_t max_frame_bytes = 0;  ///< of the largest frame

  /// Whether a ring may be like that; what another process says has to be asked.
  bool is_valid() const;
  std::size_t slot_bytes() const;
  /// Of the whole memory. Below kMaxRingBytes.
  std::size_t bytes() const;
};

inline constexpr std::uint32_t kMaxRingSlots = 1024;
inline constexpr std::size_t kMaxRingBytes = 3u << 20;
/// The longest run, headers included: eight packets of 1024 bytes. The consumer begins to read a run when all
/// of it was written, so that longer ones make a message late, and are hardly faster.
inline constexpr std::uint16_t kMaxRunBytes = 8 * 1024 + 128;

/// A ring has one producer and one consumer, each a process. There is no lock in it, and each of them may end
/// at any instruction: a frame is there when the producer has moved the head beyond it, and its slot is free
/// when the consumer has moved the tail. A frame has a slot; a run, which stands for several frames, has as
/// many as it needs, one after the other in memory, and begins as a frame does.
///
/// What the other process wrote is not believed: each number is read once and must be possible. An impossible
/// one makes the ring broken: it takes and gives nothing any more. The bytes of a frame can change while they
/// are read.
namespace ring {

/// At the beginning of the memory, which starts with zeros. A word that one end writes has a cache line of
/// its own.
struct Control {
  alignas(64) std::atomic<std::uint64_t> head;      ///< slots shown since the beginning; the producer's
  alignas(64) std::atomic<std::uint64_t> tail;      ///< slots given back since the beginning; the consumer's
  alignas(64) std::atomic<std::uint32_t> is_armed;  ///< 1: the consumer sleeps, and wants to be woken
  std::atomic<std::uint32_t> poller;                ///< see RingConsumer::say_poller(); the consumer's, too
  // The producer's: 1 when it has said so.
  alignas(64) std::atomic<std::uint32_t> is_only_way;  ///< see RingProducer::say_only_way()
  std::atomic<std::uint32_t> is_given_up;              ///< see RingProducer::say_given_up()
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace ring

/// The end that writes frames. One thread at a time. Does not own the memory.
class RingProducer {
 public:
  /// `memory` has geometry.bytes(), zeroed, on a cache line's boundary.
  RingProducer(std::span<std::byte> memory, const RingGeometry& geometry);

  /// Room for one frame of max_frame_bytes; empty while the ring is full. Again the same until commit().
  std::span<std::byte> reserve();
  /// The bytes of a run that there is room for from the same place on.
  std::uint16_t run_bytes() const;
  /// The first `length` bytes of that room are a frame. The consumer sees it at the latest after publish().
  void commit(std::size_t length) { commit_as(length, true, {}); }
  /// The same for a frame without its ICRC.
  void commit_without_icrc(std::size_t length) { commit_as(length, false, {}); }
  /// The same for a run, of run_bytes() at most.
  void commit_run(std::size_t length, nic::RunShape shape) { commit_as(length, false, shape); }
  /// Shows the consumer all frames. True when it sleeps: then wake it.
  bool publish();

  /// Tells the consumer, before the first frame is shown, that nothing went to it on another way.
  void say_only_way() { control_.is_only_way.store(1, std::memory_order_release); }
  /// Tells the consumer that from now on frames go to it on another way.
  void say_given_up() { control_.is_given_up.store(1, std::memory_order_release); }

  /// As the consumer has said last; nothing when it has not.
  std::optional<std::uint32_t> poller() const {
    const std::uint32_t said = control_.poller.load(std::memory_order_relaxed);
    return said == 0 ? std::nullopt : std::optional(said - 1);
  }

  /// Slots that the consumer has not given back.
  std::uint64_t count_untaken();
  bool is_empty() { return count_untaken() == 0; }
  bool is_broken() const { return is_broken_; }
  std::uint64_t committed_slots() const { return head_; }

 private:
  void commit_as(std::size_t length, bool has_icrc, nic::RunShape shape);
  void read_tail();
  std::uint64_t free_slots() const { return geometry_.slots - (head_ - tail_); }
  std::byte* slot_at(std::uint64_t position) const;

  const RingGeometry geometry_;
  const std::uint64_t slots_of_run_;  // at most
  ring::Control& control_;
  std::byte* const slots_;
  std::uint64_t head_ = 0;   // of the slots committed
  std::uint64_t shown_ = 0;  // of those published
  std::uint64_t tail_ = 0;   // as last read
  bool is_broken_ = false;
};

/// The end that reads frames. One thread at a time. Does not own the memory.
class RingConsumer {
 public:
  /// With `must_have_icrc`, each frame is given out as one with an ICRC, also if the producer left the ICRC
  /// out: the receiver's check then finds it wrong. Runs are malformed then.
  RingConsumer(std::span<std::byte> memory, const RingGeometry& geometry, bool must_have_icrc = false);

  /// Gives back what the last call returned, and returns up to `frames.size()` frames, and fewer if runs
  /// among them have many slots. They are not longer than the geometry says, runs not longer than
  /// kMaxRunBytes, and all stay where they are until the next call; those too short for an Ethernet header
  /// are left out and counted.
  std::size_t receive(std::span<nic::ReceivedFrame> frames);

  /// Tells the producer on which processor of the host our program last polled and found nothing.
  void say_poller(std::uint32_t processor) {
    control_.poller.store(processor + 1, std::memory_order_relaxed);
  }

  /// Asks to be woken by the next frame. Then look once more whether there is one.
  void arm();
  void disarm();
  /// Whether the producer has woken us between arm() and disarm(), or will at once; told once.
  bool take_wake_up() { return std::exchange(was_woken_, false); }
  bool has_frames() const;
  /// Whether the producer has said so.
  bool is_only_way() const { return control_.is_only_way.load(std::memory_order_acquire) == 1; }
  bool is_given_up() const { return control_.is_given_up.load(std::memory_order_acquire) == 1; }

  bool is_broken() const { return is_broken_; }
  std::uint64_t malformed_frames() const { return malformed_frames_; }

 private:
  const RingGeometry geometry_;
  ring::Control& control_;
  const std::byte* const slots_;
  const bool must_have_icrc_;
  std::uint64_t next_ = 0;      // the slot to be read
  std::uint64_t returned_ = 0;  // the tail, as last written
  std::uint64_t malformed_frames_ = 0;
  bool is_broken_ = false;
  bool is_armed_ = false;
  bool was_woken_ = false;
};

}  // namespace urnic::drivers
