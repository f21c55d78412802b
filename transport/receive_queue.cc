// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/receive_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "transport/queue_room.h"

namespace urnic::transport {

ReceiveQueue::ReceiveQueue(Limits limits, QueueMemory* memory)
    : limits_{.work_requests = granted_requests(limits.work_requests, limits.is_exact),
              .sges = std::min(limits.sges, kMaxSges),
              .is_exact = limits.is_exact},
      mask_(places_for(limits_.work_requests) - 1),
      headers_(std::size_t{mask_} + 1, QueueKind::kReceive, memory),
      sges_((std::size_t{mask_} + 1) * limits_.sges + 1, QueueKind::kReceive, memory) {}

void ReceiveQueue::prepare(const ReceiveRequest& request, std::span<const Sge> sges, std::uint32_t length) {
  assert(!is_full() && sges.size() <= limits_.sges);
  const std::size_t place = prepared_ & mask_;
  headers_[place] = {
      .wr_id = request.wr_id, .length = length, .sge_count = static_cast<std::uint32_t>(sges.size())};
  std::copy(sges.begin(), sges.end(), &sges_[place * limits_.sges]);
  ++prepared_;
}

bool ReceiveQueue::take(ReceiveWqe& to) {
  if (is_empty()) return false;
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  const std::size_t place = head & mask_;
  const Header& header = headers_[place];
  to.wr_id = header.wr_id;
  to.length = header.length;
  to.sge_count = header.sge_count;
  std::copy_n(&sges_[place * limits_.sges], header.sge_count, to.sges.begin());
  head_.store(head + 1, std::memory_order_release);
  // In this order is_full() never counts it twice.
  if (unpolled_ != nullptr) unpolled_->fetch_add(1, std::memory_order_acq_rel);
  if (size() < limit_) {
    limit_ = 0;
    limit_sink_->on_limit_reached();
  }
  return true;
}

void ReceiveQueue::exchange_rings(ReceiveQueue& other) {
  assert(other.is_empty() && other.limits_.sges == limits_.sges && size() <= other.limits_.work_requests);
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  const std::uint32_t waiting = size();
  for (std::uint32_t i = 0; i < waiting; ++i) {
    const std::size_t from = (head + i) & mask_;
    other.headers_[i] = headers_[from];
    std::copy_n(&sges_[from * limits_.sges], headers_[from].sge_count,
                &other.sges_[std::size_t{i} * limits_.sges]);
  }
  std::swap(limits_, other.limits_);
  std::swap(mask_, other.mask_);
  headers_.swap(other.headers_);
  sges_.swap(other.sges_);
  prepared_ = waiting;
  head_.store(0, std::memory_order_relaxed);
  tail_.store(waiting, std::memory_order_release);
}

void ReceiveQueue::clear() {
  prepared_ = 0;
  head_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_release);
}

}  // namespace urnic::transport
