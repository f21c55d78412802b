// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PolledRooms: the room of queues that comes back when the program polls (RoomReturn::kWhenPolled).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "transport/completion.h"
#include "transport/types.h"

namespace urnic::nic {

/// Of one queue pair. The queue pair's posts read it, and polls write it, without a lock.
struct PolledRoom {
  /// Up to where in the send queue the program has heard that all is done.
  std::atomic<std::uint32_t> sends_end{0};
  /// Receives that were taken from the queue, and whose completions were not polled; shared with the other
  /// queue pairs of a shared receive queue. Null: receives give their room back otherwise.
  std::shared_ptr<std::atomic<std::uint32_t>> unpolled_receives;

  void polled_send(std::uint32_t place) { sends_end.store(place + 1, std::memory_order_release); }
  void polled_receives(std::uint32_t count) {
    if (unpolled_receives != nullptr) unpolled_receives->fetch_sub(count, std::memory_order_acq_rel);
  }
};

/// Of a device, by the numbers of its queue pairs. Any thread.
class PolledRooms {
 public:
  void add(transport::QpNumber qp, std::shared_ptr<PolledRoom> room) {
    const std::unique_lock lock(mutex_);
    rooms_[to_integer(qp)] = std::move(room);
  }
  void remove(transport::QpNumber qp) {
    const std::unique_lock lock(mutex_);
    rooms_.erase(to_integer(qp));
  }
  /// The program has polled it.
  void polled(const transport::Completion& completion) const {
    const std::shared_lock lock(mutex_);
    const auto found = rooms_.find(to_integer(completion.qp_number));
    if (found == rooms_.end()) return;
    if (is_receive(completion.opcode)) return found->second->polled_receives(1);
    found->second->polled_send(completion.origin);
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<PolledRoom>> rooms_;
};

}  // namespace urnic::nic
