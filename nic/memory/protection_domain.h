// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProtectionDomain: what ties queue pairs to the memory they may use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "transport/queue_memory.h"
#include "transport/types.h"

namespace urnic::nic {

struct ProtectionDomain {
  ~ProtectionDomain() {
    if (siblings != nullptr) siblings->fetch_sub(1);
  }

  /// What is in domains of one id may be used together: a parent domain has the id of the domain it was made
  /// with.
  transport::PdId id{};
  /// Where the rings of queues made in it are, which it outlives; null: on the heap.
  transport::QueueMemory* memory = nullptr;
  /// Memory regions, queue pairs and address handles in it; deallocating is refused while there are any.
  std::atomic<std::uint32_t> users{0};
  /// How many the device has, this one included; null: it is not counted, as a parent domain is not.
  std::shared_ptr<std::atomic<std::uint32_t>> siblings{};
};

}  // namespace urnic::nic
