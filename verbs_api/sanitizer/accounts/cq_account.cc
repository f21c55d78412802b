// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/accounts/cq_account.h"

#include <fmt/core.h>

#include "verbs_api/sanitizer/accounts/accounts.h"
#include "verbs_api/sanitizer/accounts/qp_account.h"

namespace urnic::verbs_api {

void CqAccount::polled(const transport::Completion& completion) {
  if (const std::uint64_t version = accounts_.version(); version != version_) [[unlikely]] {
    known_.fill({});
    version_ = version;
  }
  const std::uint32_t number = to_integer(completion.qp_number);
  Known& known = known_[number % kKnown];
  if (known.number != number) [[unlikely]] {
    known = {.number = number, .account = accounts_.find(number)};
  }
  if (known.account != nullptr) known.account->polled(completion);
}

void CqAccount::tell_of_overrun(std::uint32_t waiting) {
  if (is_overrun_told_.exchange(true)) return;
  complaints_.complain(Finding::kCompletionQueueOverrun, name_, [&] {
    return fmt::format("{} completions wait to be polled, and the queue was requested with {} entries",
                       waiting, entries_.load(std::memory_order_relaxed));
  });
}

void CqAccount::tell_of_size(std::uint32_t signaled) {
  if (is_size_told_.exchange(true)) return;
  complaints_.complain(Finding::kCompletionQueueTooSmall, name_, [&] {
    return fmt::format(
        "{} signaled sends of one queue pair can complete before a poll, and the program requested "
        "with {} entries",
        signaled, entries_.load(std::memory_order_relaxed));
  });
}

}  // namespace urnic::verbs_api
