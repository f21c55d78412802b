// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/srq_watch.h"

#include <fmt/core.h>

#include <utility>

#include "verbs_api/sanitizer/call_stack.h"

namespace urnic::verbs_api {

void SrqWatch::add(std::uint32_t number, std::shared_ptr<SrqLedger> ledger, Ask ask) {
  const std::lock_guard lock(mutex_);
  queues_.insert_or_assign(number, Queue{.ledger = std::move(ledger), .ask = std::move(ask)});
}

void SrqWatch::remove(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  queues_.erase(number);
}

void SrqWatch::armed(std::uint32_t number, std::uint32_t limit) {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(number);
  if (found == queues_.end()) return;
  found->second.armed_at = limit;
  found->second.was_dry = false;
}

void SrqWatch::recount() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, queue] : queues_) {
    if (queue.ledger->is_for_xrc()) queue.ledger->limit(queue.ask().waiting);
  }
}

void SrqWatch::look() {
  const std::lock_guard lock(mutex_);
  for (auto& [number, queue] : queues_) {
    if (queue.armed_at == 0) continue;
    const State state = queue.ask();
    const bool is_dry = state.waiting == 0 && state.limit == 0;
    const bool was_dry = std::exchange(queue.was_dry, is_dry);
    if (!is_dry || !was_dry) continue;
    const std::uint32_t limit = std::exchange(queue.armed_at, 0);
    complaints_.complain_of(CallPath(), Finding::kSrqLimitNotArmed, queue.ledger->name(), [limit] {
      return fmt::format("it is empty; its event of limit {} has come, and the program has armed none since",
                         limit);
    });
  }
}

}  // namespace urnic::verbs_api
