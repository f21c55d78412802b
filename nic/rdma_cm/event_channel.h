// EventChannel: the events that a program has not fetched yet.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "nic/rdma_cm/types.h"

namespace urnic::nic::rdma_cm {

/// Tells those who wait for a channel.
class ChannelSignal {
 public:
  virtual ~ChannelSignal() = default;
  /// The channel has one event more, whether it had some before or not; or it, which had some, has none any more. Called
  /// under the engine lock: must not wait, and must not call back.
  virtual void set(bool has_events) noexcept = 0;
};

/// All calls under the engine lock.
class EventChannel {
 public:
  /// Counts with the events that were fetched of `owner`, which is not event.id where a listener has a request.
  struct Entry {
    Event event;
    IdNumber owner{};
  };

  /// `signal` must outlive the channel.
  explicit EventChannel(ChannelSignal& signal) : signal_(signal) {}
  EventChannel(const EventChannel&) = delete;
  EventChannel& operator=(const EventChannel&) = delete;

  bool is_empty() const { return entries_.empty(); }

  void push(const Entry& entry) {
    entries_.push_back(entry);
    signal_.set(true);
  }

  /// The oldest.
  std::optional<Entry> pop() {
    if (entries_.empty()) return std::nullopt;
    const Entry entry = entries_.front();
    entries_.pop_front();
    if (entries_.empty()) signal_.set(false);
    return entry;
  }

  /// Takes out those of one owner, in order.
  std::deque<Entry> take(IdNumber owner) {
    std::deque<Entry> taken;
    std::deque<Entry> kept;
    for (const Entry& entry : entries_) (entry.owner == owner ? taken : kept).push_back(entry);
    entries_ = std::move(kept);
    if (!taken.empty() && entries_.empty()) signal_.set(false);
    return taken;
  }

 private:
  ChannelSignal& signal_;
  std::deque<Entry> entries_;
};

}  // namespace urnic::nic::rdma_cm
