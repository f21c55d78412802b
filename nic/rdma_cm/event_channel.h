// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EventChannel: the events that a program has not fetched yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "nic/rdma_cm/types.h"

namespace urnic::nic::rdma_cm {

/// Tells threads that wait for a channel.
class ChannelSignal {
 public:
  virtual ~ChannelSignal() = default;
  /// The channel has one event more, whether it had some before or not; or it, which had some, has none any
  /// more. Called under the engine lock: must not wait, and must not call back.
  virtual void set(bool has_events) noexcept = 0;
};

/// Nothing here grows slower than by the logarithm of what waits: a program may have tens of thousands of
/// ids. All calls under the engine lock.
class EventChannel {
 public:
  /// Counts with the events that were fetched of `owner`, which is not event.id where a listener has a
  /// request.
  struct Entry {
    Event event;
    IdNumber owner{};
  };

  /// `signal` must outlive the channel.
  explicit EventChannel(ChannelSignal& signal) : signal_(signal) {}
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  /// The ids that belong to it, by number.
  std::set<IdNumber>& ids() { return ids_; }

  bool is_empty() const { return entries_.empty(); }

  void push(const Entry& entry) {
    entries_.emplace(next_, entry);
    by_owner_.emplace(entry.owner, next_);
    ++next_;
    signal_.set(true);
  }

  /// The oldest.
  std::optional<Entry> pop() {
    if (entries_.empty()) return std::nullopt;
    const auto [number, entry] = *entries_.begin();
    entries_.erase(entries_.begin());
    by_owner_.erase({entry.owner, number});
    if (entries_.empty()) signal_.set(false);
    return entry;
  }

  /// Takes out one owner's entries, in order.
  std::vector<Entry> take(IdNumber owner) {
    std::vector<Entry> taken;
    const auto first = by_owner_.lower_bound({owner, 0});
    auto last = first;
    for (; last != by_owner_.end() && last->first == owner; ++last) {
      const auto found = entries_.find(last->second);
      taken.push_back(found->second);
      entries_.erase(found);
    }
    by_owner_.erase(first, last);
    if (!taken.empty() && entries_.empty()) signal_.set(false);
    return taken;
  }

 private:
  ChannelSignal& signal_;
  std::set<IdNumber> ids_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Entry> entries_;  // in the order in which they came
  std::set<std::pair<IdNumber, std::uint64_t>> by_owner_;
};

}  // namespace urnic::nic::rdma_cm
