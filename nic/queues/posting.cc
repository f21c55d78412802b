// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/posting.h"

namespace urnic::nic {

std::uint64_t total_length(std::span<const transport::Sge> sges) {
  std::uint64_t total = 0;
  for (const transport::Sge& sge : sges) total += sge.length;
  return total;
}

std::unique_lock<std::mutex> lock_unless_abandoned(std::mutex& mutex, const QueueEngine& engine) {
  return engine.is_abandoned() ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
}

}  // namespace urnic::nic
