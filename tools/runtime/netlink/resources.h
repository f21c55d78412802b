// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What processes have of a device, as attributes of the kernel's resource tracking.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tools/inspection/stat/processes.h"
#include "tools/runtime/netlink/message.h"

namespace urnic::netlink {

struct Resource {
  std::uint32_t number = 0;  ///< of the process: others may have the same
  AttributeWriter attributes{};
};

/// One kind of resources: how a request names it, and the attributes of answers.
struct ResourceKind {
  std::uint16_t command;  ///< enum rdma_nldev_command
  std::uint16_t table;    ///< the attribute that holds the entries
  std::uint16_t entry;    ///< one of them
  std::uint16_t number;   ///< by which a request names one
  std::string_view name;  ///< in the summary
  bool is_of_port;        ///< otherwise of the whole device
  /// Adds what the process, which has a snapshot, has of it.
  void (*add)(const tools::NicProcess& process, std::vector<Resource>& to);
};

/// In the order of the summary.
std::span<const ResourceKind> resource_kinds();

/// Of a command that one of them has.
const ResourceKind& resource_kind_of(std::uint16_t command);

/// What the processes have of `kind` on `device`, one process after the other.
std::vector<Resource> resources_of(const ResourceKind& kind, std::string_view device,
                                   const std::vector<tools::NicProcess>& processes);

}  // namespace urnic::netlink
