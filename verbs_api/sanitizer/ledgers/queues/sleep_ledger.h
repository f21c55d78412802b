// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SleepLedger: threads that wait for an event of a completion channel, and events that no thread takes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "verbs_api/sanitizer/call_stack.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/ledgers/queues/cq_ledger.h"

namespace urnic::verbs_api {

/// A thread names itself by its number, and a channel by its address. Any thread.
class SleepLedger {
 public:
  static constexpr std::chrono::seconds kPatience{1};
  /// After so long, no thread takes the events of a queue.
  static constexpr std::chrono::seconds kUntaken{10};

  /// Of a completion queue.
  struct Events {
    std::uint32_t waiting = 0;  ///< in its channel
    std::uint32_t taken = 0;    ///< that the program has taken so far
  };

  explicit SleepLedger(Complaints& complaints) : complaints_(complaints) {}

  /// `is_asleep` says whether completions wait in the queue and no event will follow. Neither it nor `events`
  /// may call this.
  void add(const void* channel, std::shared_ptr<CqLedger> queue, std::function<bool()> is_asleep,
           std::function<Events()> events);
  void remove(const CqLedger& queue);

  void begins(const void* channel, SanitizerTime now, CallPath calls);
  void ends();

  /// Time has passed. Complains of those that sleep for longer than kPatience, and of events that wait for
  /// longer than kUntaken.
  void look(SanitizerTime now);
  /// The event that this thread got tells only of completions that were there when it was requested.
  void got_event_of_old(const CqLedger& queue) const;

 private:
  struct Queue {
    const void* channel;
    std::shared_ptr<CqLedger> ledger;
    std::function<bool()> is_asleep;
    std::function<Events()> events;
    std::uint32_t taken = 0;               // at the last look
    std::optional<SanitizerTime> since{};  // events wait, and none was taken
    bool is_told = false;
  };
  struct Sleeper {
    const void* channel;
    SanitizerTime since;
    CallPath calls;
  };

  void look_for_events(SanitizerTime now, Queue& queue);

  Complaints& complaints_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<const CqLedger*, Queue> queues_;
  std::unordered_map<pid_t, Sleeper> sleepers_;
};

}  // namespace urnic::verbs_api
