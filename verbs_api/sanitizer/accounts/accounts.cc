// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/accounts/accounts.h"

#include <mutex>
#include <utility>

namespace urnic::verbs_api {

void Accounts::add(std::uint32_t number, std::shared_ptr<QpAccount> account) {
  const std::lock_guard lock(mutex_);
  queue_pairs_.insert_or_assign(number, std::move(account));
  version_.fetch_add(1, std::memory_order_release);
}

void Accounts::remove(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  queue_pairs_.erase(number);
  version_.fetch_add(1, std::memory_order_release);
}

QpAccount* Accounts::find(std::uint32_t number) const {
  const std::shared_lock lock(mutex_);
  const auto found = queue_pairs_.find(number);
  return found == queue_pairs_.end() ? nullptr : found->second.get();
}

}  // namespace urnic::verbs_api
