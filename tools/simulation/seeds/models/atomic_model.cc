// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/models/atomic_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>

namespace urnic::sim {
namespace {

/// Orders looked at before the oracle gives up and says nothing.
constexpr std::uint32_t kMaxOrders = 100'000;

}  // namespace

void AtomicModel::on_posted(std::uint64_t queue, std::uint64_t id, const Request& request) {
  const auto [entry, is_new] = queue_of_.try_emplace(queue, queues_.size());
  if (is_new) queues_.emplace_back();
  queues_[entry->second].push_back({.id = id, .request = request, .posted = ++clock_});
  likely_ = request.applied_to(likely_);
  ++outstanding_;
}

AtomicModel::Executed* AtomicModel::find(std::uint64_t id) {
  for (auto& queue : queues_) {
    const auto found =
        std::find_if(queue.rbegin(), queue.rend(), [id](const Executed& entry) { return entry.id == id; });
    if (found != queue.rend()) return &*found;
  }
  return nullptr;
}

bool AtomicModel::on_succeeded(std::uint64_t id, std::uint64_t original) {
  Executed* const entry = find(id);
  assert(entry != nullptr && entry->fate == Fate::kOutstanding);
  entry->fate = Fate::kSucceeded;
  entry->original = original;
  entry->ended = ++clock_;
  if (--outstanding_ == 0) likely_ = entry->request.applied_to(original);
  return entry->request.applied_to(original) != original;
}

void AtomicModel::on_failed(std::uint64_t id) {
  Executed* const entry = find(id);
  assert(entry != nullptr && entry->fate == Fate::kOutstanding);
  entry->fate = Fate::kFailed;
  entry->ended = ++clock_;
  --outstanding_;
}

std::optional<std::string> AtomicModel::judge(std::uint64_t value) const {
  assert(outstanding_ == 0);
  std::uint32_t budget = kMaxOrders;
  if (is_possible(Position(queues_.size(), initial_), value, budget)) return std::nullopt;
  std::uint64_t sum = initial_;
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  for (const auto& queue : queues_) {
    for (const Executed& entry : queue) {
      succeeded += entry.fate == Fate::kSucceeded ? 1 : 0;
      failed += entry.fate == Fate::kFailed ? 1 : 0;
      if (entry.fate == Fate::kSucceeded && !entry.request.is_swap) sum += entry.request.operand;
    }
  }
  return fmt::format(
      "the number is {:#x}; {} atomics that succeeded and {} that failed cannot have made it from {:#x}, "
      "each executed "
      "once (the sum of what was added is {:#x})",
      value, succeeded, failed, initial_, sum);
}

// What succeeded fits in one place only. Where nothing of that fits, something that failed was executed.
bool AtomicModel::is_possible(Position position, std::uint64_t value, std::uint32_t& budget) const {
  if (budget == 0 || --budget == 0) return true;
  while (take_what_fits(position, false) || take_what_fits(position, true)) {
  }
  if (is_end(position, value)) return true;
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    if (position.next[queue] == queues_[queue].size()) continue;
    const Executed& entry = queues_[queue][position.next[queue]];
    if (entry.fate != Fate::kFailed) continue;
    if (entry.ended >= position.time) {
      Position further = position;
      execute(further, queue);
      if (is_possible(std::move(further), value, budget)) return true;
    }
    if (may_have_come_in_vain(position, queue)) {
      Position further = position;
      ++further.next[queue];
      if (is_possible(std::move(further), value, budget)) return true;
    }
  }
  return false;
}

void AtomicModel::execute(Position& position, std::size_t queue) const {
  const Executed& entry = queues_[queue][position.next[queue]++];
  const std::uint64_t value = entry.request.applied_to(position.value);
  const bool changes = value != position.value;
  if (changes) {
    ++position.changes;
    position.last_change_ended = entry.ended;
  }
  position.value = value;
  position.time = std::max(position.time, entry.posted);
  // What failed and changes nothing may have come earlier, and so may what follows it in its queue.
  if (changes || entry.fate == Fate::kSucceeded) position.changes_before[queue] = position.changes;
}

// A swap that failed changed nothing if it was executed while the number was another one: before the last
// change, which came after the one before it in its queue, and not before it was posted. Where it would
// change nothing now either, the order does not matter.
bool AtomicModel::may_have_come_in_vain(const Position& position, std::size_t queue) const {
  const Executed& entry = queues_[queue][position.next[queue]];
  const bool matters = entry.request.compare == position.value || entry.ended < position.time;
  return entry.request.is_swap && matters && position.changes > position.changes_before[queue] &&
         entry.posted < position.last_change_ended;
}

// All that found a number and left it alone come before the one that changed it; of those that could be next
// the one that ended first.
bool AtomicModel::take_what_fits(Position& position, bool changes) const {
  std::optional<std::size_t> first;
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    if (position.next[queue] == queues_[queue].size()) continue;
    const Executed& entry = queues_[queue][position.next[queue]];
    if (entry.fate != Fate::kSucceeded || entry.original != position.value || entry.ended < position.time) {
      continue;
    }
    if ((entry.request.applied_to(position.value) != position.value) != changes) continue;
    if (!first || entry.ended < queues_[*first][position.next[*first]].ended) first = queue;
  }
  if (!first) return false;
  execute(position, *first);
  return true;
}

// What failed last on each queue need not have been executed.
bool AtomicModel::is_end(const Position& position, std::uint64_t value) const {
  if (position.value != value) return false;
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    for (std::size_t i = position.next[queue]; i < queues_[queue].size(); ++i) {
      if (queues_[queue][i].fate == Fate::kSucceeded) return false;
    }
  }
  return true;
}

}  // namespace urnic::sim
