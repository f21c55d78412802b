// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SrqNumbers: what shared receive queues are named by.
#pragma once

#include <cstdint>
#include <unordered_set>

namespace urnic::nic {

/// Gives out numbers of 24 bits, in turn, so that a number comes back as late as possible. Never 0, and
/// none that is in use. Under the engine lock.
class SrqNumbers {
 public:
  /// `first` is given out first.
  explicit SrqNumbers(std::uint32_t first = 1) : next_(first) {}

  /// There must be one left; DeviceLimits::kMaxSharedReceiveQueues is far below 2^24.
  std::uint32_t take();
  void give_back(std::uint32_t number) { taken_.erase(number); }

 private:
  std::uint32_t next_;
  std::unordered_set<std::uint32_t> taken_;
};

}  // namespace urnic::nic
