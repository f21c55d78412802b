// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// XrcDomain: the shared receive queues that XRC targets of one domain receive into.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "transport/dependencies.h"

namespace urnic::nic {

class SharedReceiveQueue;

/// All calls under the engine lock, except the count of users.
class XrcDomain final : public transport::XrcReceivers {
 public:
  void add(SharedReceiveQueue& srq);
  void remove(const SharedReceiveQueue& srq);
  const transport::ReceiveEnd* find(std::uint32_t srq_number) override;
  /// Whether any of its queues completes there.
  bool completes_in(const transport::CompletionSink& completions) const;

  /// Queue pairs and shared receive queues in it; closing is refused while there are any. Control path.
  std::atomic<std::uint32_t> users{0};

 private:
  std::unordered_map<std::uint32_t, transport::ReceiveEnd> receivers_;
};

}  // namespace urnic::nic
