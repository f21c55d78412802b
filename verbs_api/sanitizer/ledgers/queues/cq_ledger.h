// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CqLedger: what a program may expect of a completion queue, and how it looks for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/queues/one_at_a_time.h"

namespace urnic::verbs_api {

using SanitizerTime = std::chrono::steady_clock::time_point;

/// Any thread.
class CqLedger {
 public:
  /// For so long a program may look for the completion of a request that was refused.
  static constexpr std::chrono::seconds kPatience{1};

  /// `entries` as the program has requested them. `complaints` outlives it.
  CqLedger(std::string name, std::uint32_t entries, Complaints& complaints)
      : name_(std::move(name)), entries_(entries), complaints_(complaints) {}

  const std::string& name() const { return name_; }

  /// As many signaled requests as that were posted, or are done (negative).
  void expect(std::int64_t change);
  /// The program polls, and finds so many.
  void check_waiting(std::uint32_t waiting);
  void resized(std::uint32_t entries) { entries_.store(entries, std::memory_order_relaxed); }

  /// The program has promised that one thread at a time uses it.
  void promise_one_thread() { has_one_thread_ = true; }
  void enter();
  void leave() { users_.leave(); }

  /// What the program has posted to `queue_pair` was refused, with a completion that would come here.
  void refused(const std::string& queue_pair, std::uint64_t wr_id, int error);
  /// Completions of `queue_pair` are gone with it, so many.
  void lost(const std::string& queue_pair, std::uint32_t completions);
  /// Something was posted that will complete here, or has.
  void has_work() { waits_in_vain_.store(false, std::memory_order_relaxed); }
  /// `function` was called for a detail of a completion that has failed.
  void undefined_read(const char* function, const char* status);
  /// ibv_wc_read_vendor_err() was called.
  void vendor_error_read();
  /// The program has polled, and nothing was there.
  void polled_in_vain(SanitizerTime now);

 private:
  /// What is not to come, though the program may look for it.
  struct Missed {
    Finding finding{};
    std::string queue_pair;
    std::string why;
    std::optional<SanitizerTime> first_look;
  };

  void miss(Missed missed);

  std::string name_;
  std::atomic<std::uint32_t> entries_;
  Complaints& complaints_;
  std::atomic<std::int64_t> expected_{0};
  std::atomic<bool> has_one_thread_{false};
  OneAtATime users_;
  std::atomic<bool> waits_in_vain_{false};
  std::mutex mutex_;  // guards what follows
  Missed missed_;
};

/// The program has polled, and so many completions came.
inline void note_poll(CqLedger& queue, std::size_t taken) {
  if (taken != 0) return queue.has_work();
  queue.polled_in_vain(std::chrono::steady_clock::now());
}

/// A poll, as long as this exists.
class CqUse {
 public:
  explicit CqUse(CqLedger& ledger) : ledger_(ledger) { ledger_.enter(); }
  ~CqUse() { ledger_.leave(); }
  CqUse(const CqUse&) = delete;
  CqUse& operator=(const CqUse&) = delete;

 private:
  CqLedger& ledger_;
};

}  // namespace urnic::verbs_api
