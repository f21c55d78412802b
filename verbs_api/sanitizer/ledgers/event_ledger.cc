// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/event_ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "verbs_api/sanitizer/call_stack.h"

namespace urnic::verbs_api {
namespace {

constexpr const char* kUnreadEvents = "asynchronous events";

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void EventLedger::add(const void* context, Ask ask) {
  const std::lock_guard lock(mutex_);
  contexts_.insert_or_assign(context, Context{.ask = std::move(ask)});
}

void EventLedger::remove(const void* context) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(context);
}

void EventLedger::look(std::chrono::steady_clock::time_point now) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, context] : contexts_) look(now, context);
}

void EventLedger::look(std::chrono::steady_clock::time_point now, Context& context) {
  const std::vector<UnreadEvent> events = context.ask();
  if (events.empty()) return;
  const auto fatal = std::ranges::find_if(events, &UnreadEvent::is_fatal);
  const bool has_fatal = fatal != events.end() && now - fatal->since >= kFatalUnread;
  if (has_fatal && !std::exchange(context.is_told_of_fatal, true)) {
    complaints_.complain_of(CallPath(), Finding::kFatalEventUnread, kUnreadEvents, [&] {
      return fmt::format("'{}' waits for {:.0f} s, and no thread calls ibv_get_async_event()", fatal->name,
                         seconds(now - fatal->since));
    });
  }
  const UnreadEvent& oldest = events.front();
  const bool is_unread = events.size() > kMostUnread || now - oldest.since >= kUnread;
  if (!is_unread || std::exchange(context.is_told_of_others, true)) return;
  complaints_.complain_of(CallPath(), Finding::kEventUnread, kUnreadEvents, [&] {
    return fmt::format("{} wait, the first ('{}') for {:.1f} s, and no thread calls ibv_get_async_event()",
                       events.size(), oldest.name, seconds(now - oldest.since));
  });
}

}  // namespace urnic::verbs_api
