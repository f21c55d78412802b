// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceSnapshot: what a device is and does at one moment, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nic/diagnostics/program_objects.h"
#include "nic/queues/queue_pair_snapshot.h"
#include "nic/rdma_cm/id_snapshot.h"
#include "transport/wire/address.h"

namespace urnic::nic {

struct DeviceSnapshot {
  std::string program;  ///< the name that it was started by, without folders; any bytes
  std::int64_t pid = 0;
  std::string device;
  std::string port;  ///< DeviceConfig::port_name
  std::string mac;
  std::vector<transport::wire::Gid> gids;  ///< those in use, in the order of their indexes
  std::uint32_t link_mtu = 0;              ///< bytes of the largest IP packet
  std::int64_t uptime_ns = 0;              ///< since the device was made
  bool is_started = false;                 ///< the port is open
  bool has_link = true;                    ///< Device::has_link()
  std::uint64_t completion_queues = 0;
  std::uint64_t shared_receive_queues = 0;
  std::uint64_t memory_regions = 0;
  std::uint64_t memory_windows = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counters;  ///< all of Device::all_counters()
  std::vector<QueuePairSnapshot> queue_pairs;                   ///< in no particular order
  std::vector<rdma_cm::IdSnapshot> ids;                         ///< of rdma_cm, by number
  ProgramObjects objects{};                                     ///< take_snapshot() knows the regions only
};

}  // namespace urnic::nic
