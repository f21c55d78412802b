// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/cq_ledger.h"

#include <fmt/core.h>

namespace urnic::verbs_api {

void CqLedger::expect(std::int64_t change) {
  const std::int64_t expected = expected_.fetch_add(change, std::memory_order_relaxed) + change;
  const std::uint32_t entries = entries_.load(std::memory_order_relaxed);
  if (change <= 0 || expected <= entries) return;
  complaints_.complain(Finding::kCompletionQueueTooSmall, name_, [&] {
    return fmt::format(
        "{} signaled sends can complete before the program polls, and the queue was requested with {} "
        "entries",
        expected, entries);
  });
}

void CqLedger::check_waiting(std::uint32_t waiting) {
  const std::uint32_t entries = entries_.load(std::memory_order_relaxed);
  if (waiting <= entries) return;
  complaints_.complain(Finding::kCompletionQueueOverrun, name_, [&] {
    return fmt::format("{} completions wait to be polled, and the queue was requested with {} entries",
                       waiting, entries);
  });
}

}  // namespace urnic::verbs_api
