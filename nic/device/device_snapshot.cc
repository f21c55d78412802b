// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/device/device_snapshot.h"

#include <errno.h>
#include <unistd.h>

#include <mutex>

#include "nic/device/device.h"
#include "nic/engine/engine.h"

namespace urnic::nic {

namespace {

/// Slots of the table of queue pairs that are looked at under one hold of the lock: some ten microseconds of
/// work.
constexpr std::uint32_t kSlotsAtOnce = 128;

std::vector<QueuePairSnapshot> all_queue_pairs(Engine& engine) {
  std::vector<QueuePairSnapshot> all;
  std::vector<QueuePairSnapshot> some;
  some.reserve(kSlotsAtOnce);
  for (std::uint32_t first = 0; first < QueuePairTable::kSlots; first += kSlotsAtOnce) {
    some.clear();
    {
      const std::lock_guard guard(engine);
      engine.tables().queue_pairs.for_each_in(
          first, kSlotsAtOnce, [&some](const QueuePair& qp) { some.push_back(qp.snapshot()); });
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// As many ids take some ten microseconds, too.
constexpr std::size_t kIdsAtOnce = 128;

std::vector<rdma_cm::IdSnapshot> all_ids(Engine& engine) {
  std::vector<rdma_cm::IdSnapshot> all;
  std::vector<rdma_cm::IdSnapshot> some;
  some.reserve(kIdsAtOnce);
  do {
    some.clear();
    {
      const std::lock_guard guard(engine);
      const rdma_cm::RdmaCm& rdma_cm = engine.rdma_cm();
      auto next = all.empty() ? rdma_cm.ids().begin() : rdma_cm.ids().upper_bound(all.back().number);
      for (; next != rdma_cm.ids().end() && some.size() < kIdsAtOnce; ++next) {
        some.push_back(rdma_cm.snapshot(next->second));
      }
    }
    all.insert(all.end(), some.begin(), some.end());
  } while (some.size() == kIdsAtOnce);
  return all;
}

/// Slots of the table of regions, of which most may be empty.
constexpr std::size_t kRegionSlotsAtOnce = 1024;

std::vector<ProgramObjects::MemoryRegion> all_regions(Engine& engine) {
  std::vector<ProgramObjects::MemoryRegion> all;
  std::vector<ProgramObjects::MemoryRegion> some;
  some.reserve(kRegionSlotsAtOnce);
  bool is_more = true;
  for (std::size_t first = 0; is_more; first += kRegionSlotsAtOnce) {
    some.clear();
    {
      const std::lock_guard guard(engine);
      is_more = engine.tables().memory.for_each_region_in(first, kRegionSlotsAtOnce,
                                                          [&some](const MemoryRegion& region) {
                                                            some.push_back({.key = region.key,
                                                                            .address = region.address,
                                                                            .length = region.length,
                                                                            .domain = to_integer(region.pd)});
                                                          });
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

DeviceSnapshot take_snapshot(Device& device) {
  const DeviceConfig& config = device.config();
  const Device::ObjectCounts objects = device.object_counts();
  DeviceSnapshot snapshot{.program = program_invocation_short_name,
                          .pid = getpid(),
                          .device = config.name,
                          .port = config.port_name,
                          .mac = to_string(config.mac),
                          .gids = {},
                          .link_mtu = config.link_mtu,
                          .uptime_ns = device.age().count(),
                          .is_started = device.is_started(),
                          .has_link = device.has_link(),
                          .completion_queues = objects.completion_queues,
                          .shared_receive_queues = objects.shared_receive_queues,
                          .memory_regions = objects.memory_regions,
                          .memory_windows = objects.memory_windows,
                          .counters = {},
                          .queue_pairs = all_queue_pairs(device.engine()),
                          .ids = all_ids(device.engine()),
                          .objects = {}};
  snapshot.objects.memory_regions = all_regions(device.engine());
  for (std::size_t i = 0; i < device.gids().address_count(); ++i) {
    if (const auto gid = device.gids().address_at(i)) snapshot.gids.push_back(*gid);
  }
  for (const auto& [name, value] : device.all_counters()) snapshot.counters.emplace_back(name, value);
  return snapshot;
}

}  // namespace urnic::nic
