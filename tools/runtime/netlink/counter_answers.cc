// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is answered about counters.
#include <algorithm>
#include <cerrno>
#include <string>

#include "nic/diagnostics/kernel_counters.h"
#include "tools/runtime/netlink/conversation.h"

namespace urnic::netlink {
constexpr std::string_view kFolder = "hw_counters/";

/// Under the kernel's names, the sum of all processes. Files know also what processes have counted that have
/// ended, and may be a moment old.
std::map<std::string_view, std::uint64_t> Conversation::counters_of(const Device& device) {
  std::map<std::string_view, std::uint64_t> values;
  for (const nic::KernelCounter& counter : nic::kernel_counters(device.counter_names)) {
    if (!counter.file.starts_with(kFolder)) continue;
    const std::string_view name = counter.file.substr(kFolder.size());
    std::uint64_t& value = values[name];
    for (const tools::NicProcess& process : processes()) {
      if (!process.snapshot || process.snapshot->device != device.name) continue;
      const auto& counted = process.snapshot->counters;
      value += nic::value_of(counter, nic::CounterValues(counted.begin(), counted.end()));
    }
    const auto file = device.counters.find(std::string(name));
    if (file != device.counters.end()) value = std::max(value, file->second);
  }
  return values;
}

std::optional<Failure> Conversation::counters_get() {
  // First, as processes write their counters down when they are asked.
  processes();
  const auto kind = attributes_.u32(RDMA_NLDEV_ATTR_STAT_RES);
  if (attributes_.has(RDMA_NLDEV_ATTR_STAT_RES) && kind != RDMA_NLDEV_ATTR_RES_QP) return Failure{EINVAL};
  const Device* const device = device_of_named_port();
  if (device == nullptr) return Failure{EINVAL};
  AttributeWriter attributes = handle_of(*device);
  attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  if (kind) {
    // No queue pair has counters of its own.
    if (attributes_.has(RDMA_NLDEV_ATTR_STAT_COUNTER_ID)) return Failure{ENOENT};
    if (!attributes_.has(RDMA_NLDEV_ATTR_STAT_MODE)) return Failure{EINVAL};
    attributes.u32(RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
  } else {
    AttributeWriter table;
    for (const auto& [name, value] : counters_of(*device)) {
      AttributeWriter entry;
      entry.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
      entry.u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
      table.nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, entry);
    }
    attributes.nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, table);
  }
  say(attributes);
  return std::nullopt;
}

/// Queue pairs with counters of their own: there are none. Of regions the kernel tells the number, and what a
/// driver counts of them; this one counts nothing.
std::optional<Failure> Conversation::counters_dump() {
  const std::uint32_t kind = attributes_.u32(RDMA_NLDEV_ATTR_STAT_RES).value_or(0);
  const Device* const device =
      attributes_.has(RDMA_NLDEV_ATTR_PORT_INDEX) ? device_of_named_port() : named_device();
  if (device == nullptr) return Failure{EINVAL};
  if (kind == RDMA_NLDEV_ATTR_RES_QP) return std::nullopt;
  if (kind != RDMA_NLDEV_ATTR_RES_MR) return Failure{EINVAL};
  const ResourceKind& regions = resource_kind_of(RDMA_NLDEV_CMD_RES_MR_GET);
  std::vector<Resource> numbers;
  for (const Resource& region : resources_of(regions, device->name, processes())) {
    Resource& added = numbers.emplace_back(Resource{.number = region.number});
    added.attributes.u32(RDMA_NLDEV_ATTR_RES_MRN, region.number);
  }
  return resources_in_parts(regions, *device, numbers);
}

/// Which counters there are: none can be switched on or off.
std::optional<Failure> Conversation::counter_names_get() {
  const Device* const device = device_of_named_port();
  if (device == nullptr) return Failure{EINVAL};
  AttributeWriter table;
  std::uint32_t index = 0;
  for (const auto& [name, value] : counters_of(*device)) {
    AttributeWriter entry;
    entry.text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
    entry.u32(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, index++);
    table.nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, entry);
  }
  AttributeWriter attributes = handle_of(*device);
  attributes.u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  attributes.nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, table);
  say(attributes);
  return std::nullopt;
}

}  // namespace urnic::netlink
