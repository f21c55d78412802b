// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WriteLog: how often the NIC has written to pages of the program's memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nic/memory/atomic_log.h"

namespace urnic::nic {

/// Pages share counters, so that a write may seem to be at another place, too, but none is missed.
class WriteLog {
 public:
  /// Before and after each write, so that whoever looks meanwhile sees a difference. Any thread.
  void count(const std::byte* memory, std::size_t bytes) {
    for_each_page(memory, bytes, [this](std::size_t page) { writes_[page].fetch_add(1); });
  }

  /// A number that is another one if the NIC has written there meanwhile. Any thread.
  std::uint64_t writes_to(const std::byte* memory, std::size_t bytes) const {
    std::uint64_t sum = 0;
    for_each_page(memory, bytes, [&](std::size_t page) { sum += writes_[page].load(); });
    return sum;
  }

  /// From now on `log`, which must outlive this, is told of atomics. Before the first.
  void use(AtomicLog& log) { atomics_ = &log; }
  /// Null where nothing is interested.
  AtomicLog* atomics() const { return atomics_; }

 private:
  static constexpr unsigned kPageBits = 12;
  static constexpr std::size_t kCounters = std::size_t{1} << 16;

  template <typename Visit>
  static void for_each_page(const std::byte* memory, std::size_t bytes, Visit visit) {
    if (bytes == 0) return;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    for (auto page = address >> kPageBits; page <= (address + bytes - 1) >> kPageBits; ++page) {
      visit(page % kCounters);
    }
  }

  std::array<std::atomic<std::uint32_t>, kCounters> writes_{};
  AtomicLog* atomics_ = nullptr;
};

/// A write, as long as this exists. `log` may be null: then it is not counted.
class LoggedWrite {
 public:
  LoggedWrite(WriteLog* log, const void* memory, std::size_t bytes)
      : log_(log), memory_(static_cast<const std::byte*>(memory)), bytes_(bytes) {
    if (log_ != nullptr) [[unlikely]] {
      log_->count(memory_, bytes_);
    }
  }
  ~LoggedWrite() {
    if (log_ != nullptr) [[unlikely]] {
      log_->count(memory_, bytes_);
    }
  }
  LoggedWrite(const LoggedWrite&) = delete;
  LoggedWrite& operator=(const LoggedWrite&) = delete;

 private:
  WriteLog* log_;
  const std::byte* memory_;
  std::size_t bytes_;
};

}  // namespace urnic::nic
