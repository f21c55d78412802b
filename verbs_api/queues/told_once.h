// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ToldOnce: which reasons a person was told already.
#pragma once

#include <atomic>
#include <cstdint>

namespace urnic::verbs_api {

class ToldOnce {
 public:
  /// Whether this is the first time for `reason`, below 32. Any thread.
  bool is_first(unsigned reason) {
    const std::uint32_t bit = std::uint32_t{1} << reason;
    return (told_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

 private:
  std::atomic<std::uint32_t> told_{0};
};

}  // namespace urnic::verbs_api
