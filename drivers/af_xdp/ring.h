// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The rings that an AF_XDP socket shares with the kernel: one side produces entries, the other consumes them.
#pragma once

#include <linux/if_xdp.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace urnic::drivers {

/// A part of a socket's memory that is mapped as long as the object lives.
class XdpRingMemory {
 public:
  XdpRingMemory() = default;
  /// Maps `bytes` of `socket` from `page_offset` on; is_mapped() says whether that worked, errno why it did
  /// not.
  XdpRingMemory(int socket, std::size_t bytes, std::uint64_t page_offset) : bytes_(bytes) {
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket,
                             static_cast<off_t>(page_offset));
    if (start == MAP_FAILED) return;
    start_ = static_cast<std::byte*>(start);
    // A child would keep the socket by it, and with it the interface's queue.
    madvise(start_, bytes, MADV_DONTFORK);
  }
  XdpRingMemory(XdpRingMemory&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  XdpRingMemory& operator=(XdpRingMemory&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~XdpRingMemory() {
    if (start_ != nullptr) munmap(start_, bytes_);
  }

  bool is_mapped() const { return start_ != nullptr; }
  std::byte* at(std::uint64_t offset) const { return start_ + offset; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What both sides of a ring have in common. An index counts entries without end, modulo 2^32; the number of
/// entries is a power of two. `Entry` is xdp_desc, or a UMEM address.
template <typename Entry>
class XdpRing {
 public:
  XdpRing() = default;
  /// `entries` is a power of two, and what the socket was told. is_mapped() says whether it worked.
  XdpRing(int socket, const xdp_ring_offset& offsets, std::uint32_t entries, std::uint64_t page_offset)
      : memory_(socket, offsets.desc + entries * sizeof(Entry), page_offset), entries_(entries) {
    if (!memory_.is_mapped()) return;
    producer_ = reinterpret_cast<std::uint32_t*>(memory_.at(offsets.producer));
    consumer_ = reinterpret_cast<std::uint32_t*>(memory_.at(offsets.consumer));
    table_ = reinterpret_cast<Entry*>(memory_.at(offsets.desc));
  }

  bool is_mapped() const { return memory_.is_mapped(); }

 protected:
  /// The other side writes its index when the entries are written, or read.
  static std::uint32_t other_side(std::uint32_t* index) {
    return std::atomic_ref(*index).load(std::memory_order_acquire);
  }
  static void publish_own(std::uint32_t* index, std::uint32_t value) {
    std::atomic_ref(*index).store(value, std::memory_order_release);
  }

  XdpRingMemory memory_;
  std::uint32_t entries_ = 0;
  std::uint32_t own_ = 0;  // our index, the published one
  std::uint32_t* producer_ = nullptr;
  std::uint32_t* consumer_ = nullptr;
  Entry* table_ = nullptr;
};

/// We produce: frames to be filled, frames to be sent.
template <typename Entry>
class ProducerRing : public XdpRing<Entry> {
  using Ring = XdpRing<Entry>;

 public:
  using Ring::Ring;

  /// How many entries the kernel has not consumed.
  std::uint32_t waiting() const { return this->own_ - Ring::other_side(this->consumer_); }
  /// How many more it takes now.
  std::uint32_t room() const { return this->entries_ - waiting(); }
  /// Of the entries that publish() shows next, the one with this number; there must be room for it.
  Entry& next(std::uint32_t number) { return this->table_[(this->own_ + number) & (this->entries_ - 1)]; }
  void publish(std::uint32_t count) {
    this->own_ += count;
    Ring::publish_own(this->producer_, this->own_);
  }
};

/// The kernel produces: frames that were received, frames that have left.
template <typename Entry>
class ConsumerRing : public XdpRing<Entry> {
  using Ring = XdpRing<Entry>;

 public:
  using Ring::Ring;

  std::uint32_t available() const { return Ring::other_side(this->producer_) - this->own_; }
  /// Of the entries that are available, the one with this number.
  const Entry& peek(std::uint32_t number) const {
    return this->table_[(this->own_ + number) & (this->entries_ - 1)];
  }
  /// Gives the first `count` of them back.
  void release(std::uint32_t count) {
    this->own_ += count;
    Ring::publish_own(this->consumer_, this->own_);
  }
};

}  // namespace urnic::drivers
