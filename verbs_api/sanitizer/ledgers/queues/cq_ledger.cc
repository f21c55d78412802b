// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"

#include <fmt/core.h>

#include <cstring>

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

void CqLedger::enter() {
  if (users_.enter() || !has_one_thread_.load(std::memory_order_relaxed)) return;
  complaints_.complain(Finding::kTwoThreadsAtOnce, name_, [] {
    return std::string(
        "it was made with IBV_CREATE_CQ_ATTR_SINGLE_THREADED, and is polled by two threads at once");
  });
}

void CqLedger::undefined_read(const char* function, const char* status) {
  complaints_.complain(Finding::kUndefinedFieldRead, name_, [&] {
    return fmt::format("{} is called for a completion whose status is '{}'", function, status);
  });
}

void CqLedger::refused(const std::string& queue_pair, std::uint64_t wr_id, int error) {
  const std::lock_guard lock(mutex_);
  refused_ = {.queue_pair = queue_pair, .wr_id = wr_id, .error = error, .first_look = {}};
  is_refused_.store(true, std::memory_order_relaxed);
}

void CqLedger::polled_in_vain(SanitizerTime now) {
  if (!is_refused_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  const bool waits_for_others = expected_.load(std::memory_order_relaxed) > 0;
  if (waits_for_others || !refused_.first_look) {
    refused_.first_look = now;
    return;
  }
  if (now - *refused_.first_look < kPatience) return;
  is_refused_.store(false, std::memory_order_relaxed);
  complaints_.complain(Finding::kRefusedRequestWaitedFor, refused_.queue_pair, [&] {
    return fmt::format(
        "the post of wr_id {} returned {} ({}), and the program polls {} since, where nothing is to come",
        refused_.wr_id, refused_.error, std::strerror(refused_.error), name_);
  });
}

}  // namespace urnic::verbs_api
