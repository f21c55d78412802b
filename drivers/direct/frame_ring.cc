// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/frame_ring.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace urnic::drivers {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kControlBytes = 4096;
static_assert(sizeof(ring::Control) <= kControlBytes);

/// A slot begins with the frame's length, and with whether its ICRC was left out and it is a run. The frame
/// begins so that the IP header of an Ethernet frame lies on a word, and the payload of most packets (no VLAN
/// tag, IPv4, UDP, BTH) begins on a cache line: a wide store does not touch two.
struct SlotHeader {
  std::uint32_t length_and_flag = 0;
  std::uint16_t run_mtu = 0;  ///< 0: it is no run
  std::uint8_t packets = 1;
  std::uint8_t reserved = 0;
};
constexpr std::uint32_t kLacksIcrc = 1u << 31;
static_assert(kMaxRingBytes < kLacksIcrc);
constexpr std::size_t kFrameAt = 10;
constexpr std::size_t kEthernetHeaderBytes = 14;
constexpr std::size_t kUsualHeaderBytes = kEthernetHeaderBytes + 20 + 8 + 12;
static_assert(kFrameAt >= sizeof(SlotHeader) && (kFrameAt + kEthernetHeaderBytes) % 4 == 0);
static_assert((kFrameAt + kUsualHeaderBytes) % kCacheLine == 0);

/// Read in one step: the producer may change it.
SlotHeader header_of(const std::byte* slot) {
  static_assert(sizeof(SlotHeader) == sizeof(std::uint64_t));
  return std::bit_cast<SlotHeader>(*reinterpret_cast<const volatile std::uint64_t*>(slot));
}

bool is_path_mtu(std::uint16_t mtu) {
  using enum transport::PathMtu;
  return std::has_single_bit(mtu) && mtu >= to_integer(k256) && mtu <= to_integer(k4096);
}

std::uint64_t slots_for(const RingGeometry& geometry, std::size_t frame_bytes) {
  return (kFrameAt + frame_bytes + geometry.slot_bytes() - 1) / geometry.slot_bytes();
}

/// No more than a quarter of the ring, so that the consumer can read one run while the next is written.
std::uint64_t slots_of_longest_run(const RingGeometry& geometry) {
  return std::clamp<std::uint64_t>(slots_for(geometry, kMaxRunBytes), 1, std::max(geometry.slots / 4, 1u));
}

/// After so many slots the producer shows what it has, before it is asked to: the consumer then works while
/// the rest is written.
constexpr std::uint64_t kShowEvery = 4;

/// Asks for the lines of a slot that will be written soon: the consumer's processor has them, for it has read
/// them. A store that waits for such a line holds up all that come after it. The builtin asks for them to be
/// read, unless the compiler may use all instructions of this processor.
void prefetch_for_writing([[maybe_unused]] std::byte* slot, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(slot[at]));
#else
    __builtin_prefetch(slot + at, 1);
#endif
  }
}

ring::Control& control_in(std::span<std::byte> memory) {
  assert(reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine == 0);
  return *reinterpret_cast<ring::Control*>(memory.data());
}

}  // namespace

bool RingGeometry::is_valid() const {
  if (!std::has_single_bit(slots) || slots > kMaxRingSlots) return false;
  if (max_frame_bytes < kEthernetHeaderBytes || max_frame_bytes > kMaxRingBytes) return false;
  return bytes() <= kMaxRingBytes;
}

std::size_t RingGeometry::slot_bytes() const {
  return (kFrameAt + max_frame_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::size_t RingGeometry::bytes() const {
  return kControlBytes + slots * slot_bytes();
}

// --- Producer ---

RingProducer::RingProducer(std::span<std::byte> memory, const RingGeometry& geometry)
    : geometry_(geometry),
      slots_of_run_(slots_of_longest_run(geometry)),
      control_(control_in(memory)),
      slots_(memory.data() + kControlBytes) {
  assert(geometry.is_valid() && memory.size() >= geometry.bytes());
}

void RingProducer::read_tail() {
  const std::uint64_t tail = control_.tail.load(std::memory_order_acquire);
  // It goes forward, and not beyond what was shown.
  if (tail - tail_ > shown_ - tail_) {
    is_broken_ = true;
    return;
  }
  tail_ = tail;
}

std::byte* RingProducer::slot_at(std::uint64_t position) const {
  return slots_ + (position & (geometry_.slots - 1)) * geometry_.slot_bytes();
}

std::span<std::byte> RingProducer::reserve() {
  if (free_slots() < slots_of_run_) read_tail();
  if (free_slots() == 0 || is_broken_) [[unlikely]] {
    return {};
  }
  return {slot_at(head_) + kFrameAt, geometry_.max_frame_bytes};
}

std::uint16_t RingProducer::run_bytes() const {
  const std::uint64_t before_the_end = geometry_.slots - (head_ & (geometry_.slots - 1));
  const std::uint64_t slots = std::min({slots_of_run_, before_the_end, free_slots()});
  return static_cast<std::uint16_t>(
      std::min<std::size_t>(slots * geometry_.slot_bytes() - kFrameAt, kMaxRunBytes));
}

void RingProducer::commit_as(std::size_t length, bool has_icrc, nic::RunShape shape) {
  const SlotHeader header{.length_and_flag = static_cast<std::uint32_t>(length) | (has_icrc ? 0 : kLacksIcrc),
                          .run_mtu = to_integer(shape.mtu),
                          .packets = shape.packets};
  std::memcpy(slot_at(head_), &header, sizeof(header));
  const std::uint64_t slots = shape.is_run() ? slots_for(geometry_, length) : 1;
  assert(slots <= free_slots() && (shape.is_run() || length <= geometry_.max_frame_bytes));
  head_ += slots;
  // Not the next slot, which is written at once, but the one after it, for a frame of this length. A run
  // takes so long to write that its beginning is enough.
  const std::uint64_t soon = shape.is_run() ? head_ : head_ + 1;
  if (soon - tail_ < geometry_.slots) {
    prefetch_for_writing(slot_at(soon), std::min(kFrameAt + length, geometry_.slot_bytes()));
  }
  if (head_ - shown_ < kShowEvery) return;
  shown_ = head_;
  control_.head.store(head_, std::memory_order_release);
}

bool RingProducer::publish() {
  if (shown_ != head_) {
    shown_ = head_;
    control_.head.store(head_, std::memory_order_release);
  }
  // Either we see that the consumer is armed, or it sees the frame when it looks after arming.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (control_.is_armed.load(std::memory_order_relaxed) == 0) return false;
  return control_.is_armed.exchange(0, std::memory_order_relaxed) != 0;
}

std::uint64_t RingProducer::count_untaken() {
  read_tail();
  return head_ - tail_;
}

// --- Consumer ---

RingConsumer::RingConsumer(std::span<std::byte> memory, const RingGeometry& geometry, bool must_have_icrc)
    : geometry_(geometry),
      control_(control_in(memory)),
      slots_(memory.data() + kControlBytes),
      must_have_icrc_(must_have_icrc) {
  assert(geometry.is_valid() && memory.size() >= geometry.bytes());
}

std::size_t RingConsumer::receive(std::span<nic::ReceivedFrame> frames) {
  if (returned_ != next_) {
    returned_ = next_;
    control_.tail.store(next_, std::memory_order_release);
  }
  const std::uint64_t available = control_.head.load(std::memory_order_acquire) - next_;
  if (available == 0 || is_broken_) return 0;
  if (available > geometry_.slots) [[unlikely]] {
    is_broken_ = true;
    return 0;
  }
  const std::uint64_t begin = next_;
  const std::uint64_t most = std::min<std::uint64_t>(available, frames.size());
  std::size_t count = 0;
  while (next_ - begin < most) {
    const std::uint64_t place = next_ & (geometry_.slots - 1);
    const std::byte* const slot = slots_ + place * geometry_.slot_bytes();
    const SlotHeader header = header_of(slot);
    const std::uint32_t length = header.length_and_flag & ~kLacksIcrc;
    const bool lacks_icrc = (header.length_and_flag & kLacksIcrc) != 0;
    const bool is_run = header.run_mtu != 0;
    const std::uint64_t slots = is_run ? slots_for(geometry_, length) : 1;
    const std::uint64_t slots_left = std::min(available - (next_ - begin), geometry_.slots - place);
    const bool is_possible = is_run ? lacks_icrc && !must_have_icrc_ && is_path_mtu(header.run_mtu) &&
                                          length <= kMaxRunBytes && slots <= slots_left
                                    : length <= geometry_.max_frame_bytes;
    if (length < kEthernetHeaderBytes || !is_possible) [[unlikely]] {
      ++malformed_frames_;
      ++next_;
      continue;
    }
    next_ += slots;
    const std::span<const std::byte> bytes(slot + kFrameAt, length);
    if (is_run) {
      const nic::RunShape shape{.mtu = transport::PathMtu{header.run_mtu}, .packets = header.packets};
      frames[count++] = nic::ReceivedFrame::run(bytes, shape);
    } else {
      const bool has_icrc = !lacks_icrc || must_have_icrc_;
      frames[count++] = has_icrc ? nic::ReceivedFrame(bytes) : nic::ReceivedFrame::without_icrc(bytes);
    }
  }
  return count;
}

void RingConsumer::arm() {
  disarm();
  is_armed_ = true;
  control_.is_armed.store(1, std::memory_order_relaxed);
  // The other half of this fence is the one in RingProducer::publish().
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void RingConsumer::disarm() {
  if (!is_armed_) return;
  is_armed_ = false;
  was_woken_ |= control_.is_armed.exchange(0, std::memory_order_relaxed) == 0;
}

bool RingConsumer::has_frames() const {
  return control_.head.load(std::memory_order_acquire) != next_ && !is_broken_;
}

}  // namespace urnic::drivers
