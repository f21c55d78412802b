// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/gap_watch.h"

#include <fmt/core.h>

#include "verbs_api/sanitizer/call_stack.h"

namespace urnic::verbs_api {

void GapWatch::look(std::span<const Region> regions, const MappedMemory& mapped) {
  std::set<Name> gaps;
  for (const Region& region : regions) {
    const auto address = reinterpret_cast<std::uintptr_t>(region.memory);
    const auto gap = mapped.gap(address, region.length);
    if (!gap) continue;
    const Name name(region.key, region.memory);
    gaps.insert(name);
    if (!gaps_.contains(name) || !told_.insert(name).second) continue;
    complaints_.complain_of(
        CallPath(), Finding::kMemoryUnmapped, fmt::format("memory region {:#x}", region.key), [&] {
          return fmt::format(
              "it is registered, {} bytes at {:#x}, and its memory from {:#x} on is not mapped any more",
              region.length, address, *gap);
        });
  }
  std::erase_if(told_, [&](const Name& name) { return !gaps.contains(name); });
  gaps_ = std::move(gaps);
}

}  // namespace urnic::verbs_api
