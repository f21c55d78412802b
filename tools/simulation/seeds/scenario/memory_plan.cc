// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/memory_plan.h"

#include <utility>

namespace urnic::sim {

Range MemoryPlan::allocate(HostId host, Region region, std::uint32_t length) {
  std::uint32_t& size = size_of(host, region);
  size += static_cast<std::uint32_t>(random_.below(8));  // a gap
  return {.region = region, .offset = std::exchange(size, size + length), .length = length};
}

Range MemoryPlan::allocate_aligned(HostId host, Region region, std::uint32_t length) {
  std::uint32_t& size = size_of(host, region);
  size = (size + 7) / 8 * 8;
  return {.region = region, .offset = std::exchange(size, size + length), .length = length};
}

std::vector<Range> MemoryPlan::allocate_pieces(HostId host, Region region, std::uint32_t length) {
  std::vector<Range> pieces;
  if (length == 0 && random_.chance(0.5)) return pieces;
  const std::uint64_t more = random_.chance(0.3) ? random_.between(1, 3) : 0;
  for (std::uint64_t i = 0; i < more; ++i) {
    const auto part = static_cast<std::uint32_t>(random_.below(std::uint64_t{length} + 1));
    pieces.push_back(allocate(host, region, part));
    length -= part;
  }
  pieces.push_back(allocate(host, region, length));
  return pieces;
}

}  // namespace urnic::sim
