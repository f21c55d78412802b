// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MemoryPlan: hands out memory of hosts that do not exist yet.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tools/simulation/seeds/core/host_id.h"
#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/models/memory_model.h"

namespace urnic::sim {

/// Ranges never overlap. What was handed out in the end is how large the regions have to be.
class MemoryPlan {
 public:
  /// By host, then by region: bytes.
  using Sizes = std::vector<std::array<std::uint32_t, kRegions>>;

  MemoryPlan(std::uint32_t hosts, Random& random) : random_(random), sizes_(hosts) {
    for (auto& regions : sizes_) regions.fill(64);
  }

  /// At an odd address as often as not.
  Range allocate(HostId host, Region region, std::uint32_t length);
  /// At a multiple of 8.
  Range allocate_aligned(HostId host, Region region, std::uint32_t length);
  /// One to four pieces of `length` bytes together; none is fine for nothing.
  std::vector<Range> allocate_pieces(HostId host, Region region, std::uint32_t length);

  const Sizes& sizes() const { return sizes_; }

 private:
  std::uint32_t& size_of(HostId host, Region region) {
    return sizes_[index(host)][static_cast<std::size_t>(region)];
  }

  Random& random_;
  Sizes sizes_;
};

}  // namespace urnic::sim
