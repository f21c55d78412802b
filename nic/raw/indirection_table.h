// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IndirectionTable: the work queues that frames are spread over.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace urnic::nic {

class QueuePair;

/// Does not change once it is made. Any thread.
class IndirectionTable {
 public:
  /// `queues` are of type kWorkQueue, as many as some power of two, and stay as long as the table; one may
  /// stand in several places.
  explicit IndirectionTable(std::vector<QueuePair*> queues) : queues_(std::move(queues)) {}

  std::span<QueuePair* const> queues() const { return queues_; }
  /// The low bits of the hash choose.
  QueuePair& queue_for(std::uint32_t hash) const { return *queues_[hash & (queues_.size() - 1)]; }

  /// Queue pairs that use it; destroying it is refused while there are any. Control path.
  std::atomic<std::uint32_t> users{0};

 private:
  std::vector<QueuePair*> queues_;
};

}  // namespace urnic::nic
