// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ReceiveQueue: the ring of posted receive work requests.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/queue_memory.h"
#include "transport/types.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// A receive work request taken from the ring by a responder, to be filled and completed.
struct ReceiveWqe {
  std::uint64_t wr_id = 0;
  std::uint32_t length = 0;  ///< room in bytes, all elements together
  std::uint32_t sge_count = 0;
  std::array<Sge, kMaxSges> sges;

  std::span<const Sge> elements() const { return {sges.data(), sge_count}; }
};

/// Hears that a shared receive queue runs low.
class LimitSink {
 public:
  virtual ~LimitSink() = default;
  virtual void on_limit_reached() = 0;
};

/// A ring with one producer (the thread that posts, under the queue's lock) and one consumer (under the
/// engine lock). Taking a work request frees its place at once. Nothing allocates after construction.
class ReceiveQueue {
 public:
  struct Limits {
    std::uint32_t work_requests = 0;  ///< capacity; rounded up to a power of two, unless is_exact
    std::uint32_t sges = 0;           ///< per work request, at most kMaxSges
    bool is_exact = false;            ///< there is room for so many work requests and no more, also for none
  };

  /// `memory` is where its rings are; null: on the heap.
  explicit ReceiveQueue(Limits limits, QueueMemory* memory = nullptr);

  const Limits& limits() const { return limits_; }

  // --- Producer ---

  /// While the consumer takes a work request this may find room for one more, and never for one less.
  bool is_full() const {
    const std::uint32_t unpolled = unpolled_ != nullptr ? unpolled_->load(std::memory_order_acquire) : 0;
    return prepared_ - head_.load(std::memory_order_acquire) + unpolled >= limits_.work_requests;
  }

  /// From now on a work request that was taken still holds its room, and is counted in `unpolled`, which
  /// outlives this, until its owner takes it out there. Before the first post.
  void count_taken_in(std::atomic<std::uint32_t>& unpolled) { unpolled_ = &unpolled; }

  /// Copies a work request into the ring; visible to the consumer with publish(). The caller has checked
  /// is_full() and the number of elements; `length` is the sum of theirs.
  void prepare(const ReceiveRequest& request, std::span<const Sge> sges, std::uint32_t length);
  void publish() { tail_.store(prepared_, std::memory_order_release); }

  // --- Consumer ---

  bool is_empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
  }

  /// The room in bytes of the oldest work request. Only while not is_empty().
  std::uint32_t front_length() const {
    return headers_[head_.load(std::memory_order_relaxed) & mask_].length;
  }

  /// Moves the oldest work request into `to`; false when there is none.
  bool take(ReceiveWqe& to);

  /// Work requests that wait.
  std::uint32_t size() const {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed);
  }
  /// The limit of a shared queue: once fewer than `limit` work requests are left after one was taken, `sink`
  /// is told, once. 0 disarms. `sink` must outlive the queue.
  void arm_limit(std::uint32_t limit, LimitSink* sink) {
    limit_ = limit;
    limit_sink_ = sink;
  }
  std::uint32_t limit() const { return limit_; }

  /// Drops everything; only while no thread posts (queue pair to RESET).
  void clear();

  /// Takes the rings of `other`, which is empty, and goes on there with all that waits; `other` has the old
  /// ones then. It has as many elements per work request and holds what waits. Only while neither side does
  /// anything.
  void exchange_rings(ReceiveQueue& other);

 private:
  struct Header {
    std::uint64_t wr_id;
    std::uint32_t length;
    std::uint32_t sge_count;
  };

  Limits limits_;
  std::uint32_t mask_;
  QueueArray<Header> headers_;
  QueueArray<Sge> sges_;
  std::uint32_t prepared_ = 0;  // producer's own
  std::uint32_t limit_ = 0;     // consumer's own, as is the sink
  LimitSink* limit_sink_ = nullptr;
  std::atomic<std::uint32_t>* unpolled_ = nullptr;
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
};

}  // namespace urnic::transport
