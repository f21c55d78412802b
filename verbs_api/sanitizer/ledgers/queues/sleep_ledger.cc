// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/sleep_ledger.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace urnic::verbs_api {
namespace {

pid_t number_of_this_thread() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

/// A thread that was cancelled while it slept does not say so.
bool is_alive(pid_t thread) {
  return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

}  // namespace

void SleepLedger::add(const void* channel, std::shared_ptr<CqLedger> queue, std::function<bool()> is_asleep,
                      std::function<Events()> events) {
  const std::lock_guard lock(mutex_);
  const CqLedger* const name = queue.get();
  queues_.insert_or_assign(name, Queue{.channel = channel,
                                       .ledger = std::move(queue),
                                       .is_asleep = std::move(is_asleep),
                                       .events = std::move(events)});
}

void SleepLedger::remove(const CqLedger& queue) {
  const std::lock_guard lock(mutex_);
  queues_.erase(&queue);
}

void SleepLedger::begins(const void* channel, SanitizerTime now, CallPath calls) {
  const std::lock_guard lock(mutex_);
  sleepers_.insert_or_assign(number_of_this_thread(),
                             Sleeper{.channel = channel, .since = now, .calls = std::move(calls)});
}

void SleepLedger::ends() {
  const std::lock_guard lock(mutex_);
  sleepers_.erase(number_of_this_thread());
}

void SleepLedger::look_for_events(SanitizerTime now, Queue& queue) {
  const Events events = queue.events();
  if (events.waiting == 0 || events.taken != std::exchange(queue.taken, events.taken)) {
    queue.since.reset();
    return;
  }
  if (!queue.since) queue.since = now;
  if (now - *queue.since < kUntaken || std::exchange(queue.is_told, true)) return;
  complaints_.complain_of(CallPath(), Finding::kCompletionEventUnread, queue.ledger->name(), [&] {
    return fmt::format(
        "{} of its events wait in the completion channel, and the program has taken none for {} s",
        events.waiting, kUntaken.count());
  });
}

void SleepLedger::look(SanitizerTime now) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, queue] : queues_) look_for_events(now, queue);
  for (auto sleeper = sleepers_.begin(); sleeper != sleepers_.end();) {
    const auto& [thread, sleep] = *sleeper;
    if (now - sleep.since < kPatience) {
      ++sleeper;
      continue;
    }
    for (const auto& [name, queue] : queues_) {
      if (queue.channel != sleep.channel || !is_alive(thread) || !queue.is_asleep()) continue;
      complaints_.complain_of(sleep.calls, Finding::kSleepWithCompletionsWaiting, queue.ledger->name(), [] {
        return std::string(
            "a thread sleeps in ibv_get_cq_event() for a second, and completions wait that were there "
            "before ibv_req_notify_cq()");
      });
    }
    sleeper = now - sleep.since >= 2 * kPatience ? sleepers_.erase(sleeper) : std::next(sleeper);
  }
}

void SleepLedger::got_event_of_old(const CqLedger& queue) const {
  complaints_.complain(Finding::kSleepWithCompletionsWaiting, queue.name(), [] {
    return std::string(
        "the program waits for an event, and completions wait that were there before ibv_req_notify_cq(); "
        "it was not polled since. urnic still sends an event for them");
  });
}

}  // namespace urnic::verbs_api
