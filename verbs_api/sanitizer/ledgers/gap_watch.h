// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// GapWatch: regions whose memory the program has unmapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "verbs_api/sanitizer/checks/mapped_memory.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// A program may unmap memory a moment before it deregisters it, so that only what is seen twice is told. The
/// owner guards it.
class GapWatch {
 public:
  struct Region {
    std::uint32_t key = 0;
    const std::byte* memory = nullptr;
    std::uint64_t length = 0;  ///< bytes
  };

  explicit GapWatch(Complaints& complaints) : complaints_(complaints) {}

  /// Time has passed; `regions` are registered, all of them, and `mapped` was read after that was found out.
  void look(std::span<const Region> regions, const MappedMemory& mapped);

 private:
  using Name = std::pair<std::uint32_t, const std::byte*>;

  Complaints& complaints_;
  std::set<Name> gaps_;  // at the last look
  std::set<Name> told_;
};

}  // namespace urnic::verbs_api
