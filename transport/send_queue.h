// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SendQueue: the ring of posted send work requests of one queue pair.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/queue_memory.h"
#include "transport/queued_request.h"
#include "transport/types.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// A send work request in the ring, with what the requester notes about it: a cache line.
struct SendWqe {
  QueuedRequest request;
  std::uint32_t length = 0;  ///< bytes of the message
  Psn first_psn;             ///< valid once the requester has begun with it, as what follows
  /// PSNs it takes; for READ one for each response.
  std::uint32_t packet_count : 24 = 0;
  bool is_inline : 1 = false;       ///< its bytes are in the ring: posted inline, or kept
  bool keep_was_tried : 1 = false;  ///< and without is_inline it failed: they could not be read
  /// The MSN that the peer will have reached when it has done this.
  std::uint32_t message_number : 24 = 0;
  std::uint32_t sge_count : 8 = 0;
};
static_assert(sizeof(SendWqe) == 64 && kMaxSges < 256);
static_assert(kMaxMessageBytes / bytes(PathMtu::k256) <= Psn::kMask);

/// A ring with one producer (the thread that posts, under the queue pair's send lock) and one consumer (the
/// endpoint, under the engine lock). Positions are free-running 32-bit numbers: the ring holds [head(),
/// tail()). Nothing allocates after construction.
class SendQueue {
 public:
  struct Limits {
    std::uint32_t work_requests = 0;  ///< capacity; rounded up to a power of two, unless is_exact
    std::uint32_t sges = 0;           ///< per work request
    std::uint32_t inline_bytes = 0;   ///< per work request
    /// Room of each work request for a message that is to be kept (place_to_keep()); 0: none ever is. Costs
    /// address space at once, and memory only as it is used.
    std::uint32_t kept_bytes = 0;
    bool is_exact = false;  ///< there is room for so many work requests and no more, also for none
  };

  /// `memory` is where its rings are; null: on the heap.
  explicit SendQueue(Limits limits, QueueMemory* memory = nullptr);

  /// What was granted: at least what was requested.
  const Limits& limits() const { return limits_; }

  // --- Producer ---

  bool is_full() const {
    return prepared_ - room_end_->load(std::memory_order_acquire) >= limits_.work_requests;
  }

  /// From now on room comes back where `end` says, a position that follows the consumer's and outlives this;
  /// otherwise it is the consumer's own. Before the first post.
  void take_room_from(const std::atomic<std::uint32_t>& end) { room_end_ = &end; }

  /// Copies a work request into the ring; it becomes visible to the consumer with publish(). The caller has
  /// checked is_full(), the number of elements and that their lengths add up to `length`.
  void prepare(const SendRequest& request, std::span<const Sge> sges, std::uint32_t length);

  /// The same with inline data: returns `length` bytes for the caller to fill before publish().
  std::span<std::byte> prepare_inline(const SendRequest& request, std::uint32_t length);

  /// The one that was prepared last, and not published, shall have a completion.
  void signal_newest() { at(prepared_ - 1).request.signaled = true; }

  /// Hands everything prepared to the consumer.
  void publish() { tail_.store(prepared_, std::memory_order_release); }

  /// Whether the consumer is done with all that was published: the memory that it names is the poster's
  /// again.
  bool is_consumed() const {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_relaxed);
  }

  /// Forgets what was prepared and not published.
  void discard() { prepared_ = tail_.load(std::memory_order_relaxed); }

  // --- Consumer ---

  std::uint32_t head() const { return head_.load(std::memory_order_relaxed); }
  std::uint32_t tail() const { return shown_end_->load(std::memory_order_acquire); }
  bool is_empty() const { return head() == tail(); }

  SendWqe& at(std::uint32_t position) { return wqes_[position & mask_]; }
  const SendWqe& at(std::uint32_t position) const { return wqes_[position & mask_]; }

  /// Elements of a work request without inline data.
  std::span<const Sge> sges(std::uint32_t position) const {
    return {&sges_[std::size_t{position & mask_} * limits_.sges], at(position).sge_count};
  }
  /// Bytes of a work request with inline data.
  std::span<const std::byte> inline_data(std::uint32_t position) const {
    return {&data_[data_at(position)], at(position).length};
  }
  /// Where the message of a work request that has elements, and is not longer than limits().kept_bytes, can
  /// be copied to. Once it is there, the consumer sets is_inline.
  std::span<std::byte> place_to_keep(std::uint32_t position) {
    return {&data_[data_at(position)], at(position).length};
  }

  /// From now on the consumer does not see the work request at `position`, nor those that follow it; and sees
  /// all again. The adversary's.
  void hold_at(std::uint32_t position) {
    held_at_.store(position, std::memory_order_relaxed);
    shown_end_ = &held_at_;
  }
  void show_all() { shown_end_ = &tail_; }
  /// tail(), with those that are held.
  std::uint32_t posted_tail() const { return tail_.load(std::memory_order_acquire); }

  /// Frees the oldest work request's place.
  void pop() { head_.store(head() + 1, std::memory_order_release); }

  /// Drops everything; only while no thread posts (queue pair to RESET).
  void clear();

 private:
  /// Of the ring.
  std::size_t places() const { return std::size_t{mask_} + 1; }
  std::size_t data_bytes() const { return std::max(limits_.inline_bytes, limits_.kept_bytes); }
  std::size_t data_at(std::uint32_t position) const { return (position & mask_) * data_bytes(); }

  Limits limits_;
  std::uint32_t mask_;
  QueueArray<SendWqe> wqes_;
  QueueArray<Sge> sges_;
  QueueArray<std::byte> data_;  // inline or kept, for each place of the ring
  std::uint32_t prepared_ = 0;  // producer's own
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint32_t> held_at_{0};                 // consumer's own, as what follows
  const std::atomic<std::uint32_t>* shown_end_ = &tail_;  // tail_ or held_at_
  const std::atomic<std::uint32_t>* room_end_ = &head_;
};

}  // namespace urnic::transport
