// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

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

void CqLedger::vendor_error_read() {
  complaints_.complain(Finding::kVendorErrorRead, name_, [] {
    return std::string(
        "ibv_wc_read_vendor_err() is called, which returns 0 here, and other numbers elsewhere");
  });
}

void CqLedger::refused(const std::string& queue_pair, std::uint64_t wr_id, int error) {
  miss({.finding = Finding::kRefusedRequestWaitedFor,
        .queue_pair = queue_pair,
        .why = fmt::format("the post of wr_id {} returned {} ({})", wr_id, error, std::strerror(error)),
        .first_look = {}});
}

void CqLedger::lost(const std::string& queue_pair, std::uint32_t completions) {
  miss({.finding = Finding::kWaitsForDestroyed,
        .queue_pair = queue_pair,
        .why = fmt::format("{} completions went with it", completions),
        .first_look = {}});
}

void CqLedger::miss(Missed missed) {
  const std::lock_guard lock(mutex_);
  missed_ = std::move(missed);
  waits_in_vain_.store(true, std::memory_order_relaxed);
}

void CqLedger::polled_in_vain(SanitizerTime now) {
  if (!waits_in_vain_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  const bool waits_for_others = expected_.load(std::memory_order_relaxed) > 0;
  if (waits_for_others || !missed_.first_look) {
    missed_.first_look = now;
    return;
  }
  if (now - *missed_.first_look < kPatience) return;
  waits_in_vain_.store(false, std::memory_order_relaxed);
  complaints_.complain(missed_.finding, missed_.queue_pair, [&] {
    return fmt::format("{}, and the program polls {} since, where nothing is to come", missed_.why, name_);
  });
}

}  // namespace urnic::verbs_api
