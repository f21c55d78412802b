// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Tables: what a device finds its objects in.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "nic/config.h"
#include "nic/memory/deregistered_keys.h"
#include "nic/memory/memory_table.h"
#include "nic/path/address_handles.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_groups.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/queues/queue_pair_table.h"
#include "nic/raw/flow_table.h"

namespace urnic::nic {

/// Control verbs change them and rounds read them, both under the engine lock.
struct Tables {
  Tables(const DeviceConfig& config, const GidTable& gids)
      : memory(config.seed, config.type_2_windows),
        queue_pairs(config.seed),
        reports(config, gids),
        groups(reports),
        neighbors(config, gids) {
    const std::chrono::microseconds silence(config.personality->silence_after_deregistration);
    if (silence.count() > 0) deregistered_keys = std::make_unique<DeregisteredKeys>(silence);
  }

  MemoryTable memory;
  std::unique_ptr<DeregisteredKeys> deregistered_keys;  ///< null where a key is refused at once
  QueuePairTable queue_pairs;
  AddressHandles address_handles;
  MulticastReports reports;
  MulticastGroups groups;
  FlowTable flows;
  NeighborCache neighbors;
};

}  // namespace urnic::nic
