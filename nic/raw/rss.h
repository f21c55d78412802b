// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rss: receive side scaling, frames spread over work queues.
#pragma once

#include <cstddef>
#include <span>

#include "nic/raw/flow_match.h"
#include "nic/raw/indirection_table.h"
#include "nic/raw/rss_hash.h"

namespace urnic::nic {

/// How a queue pair of type kRss chooses; others have no table.
struct Rss {
  IndirectionTable* table = nullptr;
  RssHash hash{};

  /// The work queue that takes the frame.
  QueuePair& queue_for(std::span<const std::byte> frame) const {
    return table->queue_for(hash.of(FlowHeaders::read(frame)));
  }
};

}  // namespace urnic::nic
