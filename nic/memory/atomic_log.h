// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AtomicLog: what the NIC's atomics have left in the program's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace urnic::nic {

/// Notices that a number is not what the last atomic has left there. Allocates. Any thread.
class AtomicLog {
 public:
  /// Of so many numbers; when there are more, all are forgotten.
  static constexpr std::size_t kMostNumbers = 4096;

  struct Change {
    const std::uint64_t* number = nullptr;
    std::uint64_t left = 0;   ///< by the atomic before
    std::uint64_t found = 0;  ///< by the next one
  };

  /// An atomic has found `original` and left `stored`.
  void note(const std::uint64_t* number, std::uint64_t original, std::uint64_t stored) {
    const std::lock_guard lock(mutex_);
    if (left_.size() == kMostNumbers) left_.clear();
    const auto [known, is_new] = left_.try_emplace(number, stored);
    if (is_new) return;
    if (known->second != original) change_ = {.number = number, .left = known->second, .found = original};
    known->second = stored;
  }

  /// The last change that was noticed since the call before.
  std::optional<Change> take() {
    const std::lock_guard lock(mutex_);
    const std::optional<Change> change = change_;
    change_.reset();
    return change;
  }

  /// Memory may be used for something else from now on.
  void forget() {
    const std::lock_guard lock(mutex_);
    left_.clear();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::unordered_map<const std::uint64_t*, std::uint64_t> left_;
  std::optional<Change> change_;
};

}  // namespace urnic::nic
