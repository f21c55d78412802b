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

/// A slot begins with the frame's length, and with whether its ICRC was left out. The frame begins so that
/// the IP header of an Ethernet frame lies on a word, and the payload of most packets (no VLAN tag, IPv4,
/// UDP, BTH) begins on a cache line: a wide store does not touch two.
using Length = std::uint32_t;
constexpr Length kLacksIcrc = 1u << 31;
static_assert(kMaxRingBytes < kLacksIcrc);
constexpr std::size_t kFrameAt = 10;
constexpr std::size_t kEthernetHeaderBytes = 14;
constexpr std::size_t kUsualHeaderBytes = kEthernetHeaderBytes + 20 + 8 + 12;
static_assert(kFrameAt >= sizeof(Length) && (kFrameAt + kEthernetHeaderBytes) % 4 == 0);
static_assert((kFrameAt + kUsualHeaderBytes) % kCacheLine == 0);

/// After so many frames the producer shows what it has, before it is asked to: the consumer then works while
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
    : geometry_(geometry), control_(control_in(memory)), slots_(memory.data() + kControlBytes) {
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
  return slots_ + position % geometry_.slots * geometry_.slot_bytes();
}

std::span<std::byte> RingProducer::reserve() {
  if (head_ - tail_ == geometry_.slots) {
    read_tail();
    if (head_ - tail_ == geometry_.slots) return {};
  }
  if (is_broken_) [[unlikely]] {
    return {};
  }
  return {slot_at(head_) + kFrameAt, geometry_.max_frame_bytes};
}

void RingProducer::commit_as(std::size_t length, bool has_icrc) {
  assert(length <= geometry_.max_frame_bytes && head_ - tail_ < geometry_.slots);
  const Length stored = static_cast<Length>(length) | (has_icrc ? 0 : kLacksIcrc);
  std::memcpy(slot_at(head_), &stored, sizeof(stored));
  ++head_;
  // Not the next slot, which is written at once, but the one after it, for a frame of this length.
  if (head_ + 1 - tail_ < geometry_.slots) prefetch_for_writing(slot_at(head_ + 1), kFrameAt + length);
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
  const std::uint64_t end = next_ + std::min<std::uint64_t>(available, frames.size());
  std::size_t count = 0;
  for (; next_ != end; ++next_) {
    const std::byte* const slot = slots_ + next_ % geometry_.slots * geometry_.slot_bytes();
    // Once: it may change.
    const Length stored = *reinterpret_cast<const volatile Length*>(slot);
    const Length length = stored & ~kLacksIcrc;
    if (length < kEthernetHeaderBytes || length > geometry_.max_frame_bytes) [[unlikely]] {
      ++malformed_frames_;
      continue;
    }
    const std::span<const std::byte> bytes(slot + kFrameAt, length);
    const bool has_icrc = (stored & kLacksIcrc) == 0 || must_have_icrc_;
    frames[count++] = has_icrc ? nic::ReceivedFrame(bytes) : nic::ReceivedFrame::without_icrc(bytes);
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
