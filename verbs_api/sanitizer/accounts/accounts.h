// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Accounts: the queue pairs of a device that are counted for, where failures are explained.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "verbs_api/sanitizer/accounts/qp_account.h"

namespace urnic::verbs_api {

/// Any thread.
class Accounts {
 public:
  void add(std::uint32_t number, std::shared_ptr<QpAccount> account);
  /// It may still be used by who has looked it up; see find().
  void remove(std::uint32_t number);

  /// Another number after each change.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Null where there is none. Good for as long as no completion of the queue pair can be taken out of its
  /// queues by another thread: under the lock that polls take, if the version is the same.
  QpAccount* find(std::uint32_t number) const;

 private:
  std::atomic<std::uint64_t> version_{1};
  mutable std::shared_mutex mutex_;  // guards what follows
  std::unordered_map<std::uint32_t, std::shared_ptr<QpAccount>> queue_pairs_;
};

}  // namespace urnic::verbs_api
