// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CqAccount: what waits in a completion queue, by numbers alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "transport/completion.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

class Accounts;
class QpAccount;

/// Any thread, except where the contrary is said.
class CqAccount {
 public:
  /// `entries` as the program has requested them. The others outlive it.
  CqAccount(std::string name, std::uint32_t entries, Accounts& accounts, Complaints& complaints)
      : name_(std::move(name)), entries_(entries), accounts_(accounts), complaints_(complaints) {}

  void resized(std::uint32_t entries) { entries_.store(entries, std::memory_order_relaxed); }

  /// The program polls, and finds so many.
  void check_waiting(std::uint32_t waiting) {
    if (waiting > entries_.load(std::memory_order_relaxed)) [[unlikely]] {
      tell_of_overrun(waiting);
    }
  }
  /// A queue pair has so many signaled sends that were not polled.
  void check_expected(std::uint32_t signaled) {
    if (signaled > entries_.load(std::memory_order_relaxed)) [[unlikely]] {
      tell_of_size(signaled);
    }
  }
  /// The program takes it. Under the lock that polls of the queue take.
  void polled(const transport::Completion& completion);

 private:
  /// Queue pairs that had completions here lately, by their numbers.
  struct Known {
    std::uint32_t number = 0;
    QpAccount* account = nullptr;
  };
  static constexpr std::size_t kKnown = 64;

  void tell_of_overrun(std::uint32_t waiting);
  void tell_of_size(std::uint32_t signaled);

  std::string name_;
  std::atomic<std::uint32_t> entries_;
  Accounts& accounts_;
  Complaints& complaints_;
  std::atomic<bool> is_overrun_told_{false};
  std::atomic<bool> is_size_told_{false};
  std::uint64_t version_ = 0;  // of the accounts, when `known_` was right
  std::array<Known, kKnown> known_{};
};

}  // namespace urnic::verbs_api
