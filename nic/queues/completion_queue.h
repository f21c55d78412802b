// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CompletionQueue: where completions wait for the program.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "nic/adversary/completion_play.h"
#include "nic/memory/protection_domain.h"
#include "nic/queues/completion_channel.h"
#include "nic/queues/needs/queue_engine.h"
#include "transport/completion.h"
#include "transport/queue_memory.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::nic {

/// When a completion was made: at the end of the round of the engine that made it, so never before its work
/// was posted.
struct CompletionTimes {
  transport::Time device{};  ///< on the device's clock; never earlier than of the completion before
  std::chrono::nanoseconds wall_time{};  ///< the same moment as Clock::wall_time() tells it
};

struct CompletionQueueOptions {
  bool has_times = false;          ///< keep CompletionTimes
  ProtectionDomain* pd = nullptr;  ///< to be made in, for its memory; optional
};

/// How notifications of completions are put off so that one tells of several. A notification that a program
/// requested for solicited or failed completions only is never put off.
struct Moderation {
  /// So many completions share a notification; 0: as many as come within the period.
  std::uint32_t count = 0;
  /// No completion waits for longer. Zero: none waits at all, whatever the count, since others need not
  /// follow.
  transport::Duration period{};
};

/// A ring. The engine adds completions with complete() and makes them visible with publish(), at the end of
/// the round, when it has sent the acknowledgements that go with them; the program takes them with poll(),
/// from any thread.
class CompletionQueue final : public transport::CompletionSink, private ChannelEntry {
 public:
  /// `capacity` completions at least; `channel` (may be null) gets the notifications and must outlive the
  /// queue.
  CompletionQueue(QueueEngine& engine, std::uint32_t capacity, CompletionChannel* channel, void* context,
                  const CompletionQueueOptions& options = {});

  /// Not while another thread resizes the queue.
  std::uint32_t capacity() const { return capacity_; }
  CompletionChannel* channel() const { return channel_; }
  /// That it was made in, or null.
  ProtectionDomain* pd() const { return pd_; }
  /// The pointer given at creation, for the layer above.
  void* context() const { return context_; }
  /// How many completions a poll would find.
  std::uint32_t waiting() const {
    return visible_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
  }

  // --- The program's side; any thread ---

  /// Shows up to `limit` completions to `take`, oldest first, each with its times, or null if the queue keeps
  /// none, and forgets them; returns how many. When there are none it first tries to make progress (a round
  /// of the engine, unless another thread is in one). `take` runs under the lock that all polls take.
  template <typename Take>
  std::size_t poll_each(std::size_t limit, Take take);

  /// The same, by copy, as many as have room. `times`, unless it is empty, has as many places; they are
  /// filled if the queue keeps times.
  std::size_t poll(std::span<transport::Completion> completions, std::span<CompletionTimes> times = {});

  /// Asks for one event on the channel: at once when completions wait here that were not polled, otherwise
  /// when the next one is published. Completions that an event has told of do not count until the program has
  /// polled. With `solicited_only`, only those count that are solicited or failed. Wakes the NIC's thread.
  /// Without a channel it does nothing.
  ///
  /// UCX relies on the former: it polls, and then asks, without a last look. perftest relies on the latter:
  /// it asks again when it is woken, before it polls, and takes each event for another completion.
  void request_notification(bool solicited_only);

  /// Of the event that came last: whether it came only because completions waited when it was requested, and
  /// some of them wait still. Other NICs send no event for these. Any thread.
  bool has_only_told_of_old() const {
    return only_told_of_old_.load(std::memory_order_relaxed) && !is_empty() &&
           visible_.load(std::memory_order_relaxed) == told_of_old_end_.load(std::memory_order_relaxed);
  }
  /// Whether completions wait, and a notification of any completion is requested that none of them will
  /// bring. Any thread, without the engine lock.
  bool is_asleep() const;

  /// From now on a request for a notification of any completion is answered when `moderation.count`
  /// completions wait that are to be told of, or `moderation.period` after the first of them. Those are to be
  /// told of that wait unpolled when the request is made, and those published after it.
  void moderate(Moderation moderation);

  /// Makes room for `capacity` completions at least, more or fewer than before. What waits here stays, in its
  /// order, and so do requests for notification. EINVAL, with nothing changed: more completions wait than
  /// that. Throws std::bad_alloc.
  Result<void, Error> resize(std::uint32_t capacity);

  /// Whether completions were lost because the queue was full. From the first on, the queue pairs that use it
  /// are in ERR.
  bool has_overrun() const { return overrun_.load(std::memory_order_relaxed); }

  // --- The engine's side; under the engine lock ---

  void complete(const transport::Completion& completion) override;
  /// Makes visible what was added, and notifies the channel if asked to. Says whether that was anything.
  bool publish(transport::Time now);

  /// When the notification that was put off is due, or completions that an adversary hides are shown; kNever
  /// when there is neither.
  transport::Time notification_due() const;
  /// Does what is due, and says whether that was anything.
  bool notify_if_due(transport::Time now);
  /// Whether anything is still put off; otherwise the engine has taken the queue off its list.
  bool is_put_off() const { return is_put_off_; }

  /// How many completions were ever added, modulo 2^32.
  std::uint32_t added() const { return tail_; }

  /// Takes out what `qp` has completed and the program did not fetch; of that no event tells any more.
  /// Returns how many receives were among it.
  std::uint32_t discard(transport::QpNumber qp);

  /// What waits here of `qp`, of its receives or else of its sends, and has succeeded, is said to be flushed.
  void flush_waiting(transport::QpNumber qp, bool is_receive);

  /// Whether they stay when that queue pair ends: an adversary's doing. Counts as the end of one.
  bool keeps_completions_of(transport::QpNumber qp);

  /// The queue is about to be destroyed: no notification is wanted any more, and events not fetched are
  /// forgotten.
  void retire();

  /// Queue pairs that use this queue; destroying it is refused while there are any. Control path.
  std::atomic<std::uint32_t> users{0};

  /// Events of this queue that CompletionChannel::wait() handed out, counted under the channel's lock: after
  /// forget(), the thread that destroys the queue knows how many acknowledgements to wait for.
  std::atomic<std::uint32_t> events_fetched{0};

 private:
  friend class CompletionChannel;

  bool is_empty() const;
  bool has_any();
  bool has_solicited(std::uint32_t from, std::uint32_t to) const;
  void notify_of_waiting();
  void note_times(std::uint32_t from);
  void notify_of(std::uint32_t count, transport::Time now);
  void notify();
  void put_off(transport::Time due);
  std::uint32_t end_of_shown(std::uint32_t from, transport::Time now);
  bool is_told_by_adversary();

  QueueEngine& engine_;
  // These four change under the engine lock and the lock of poll() together; either is enough to read them.
  std::uint32_t capacity_;  // not more than the ring has places
  std::uint32_t mask_;
  transport::QueueArray<transport::Completion> ring_;
  std::unique_ptr<CompletionTimes[]> times_;  // beside the ring, or null
  ProtectionDomain* pd_;
  CompletionChannel* channel_;
  void* context_;

  std::mutex poll_mutex_;
  std::atomic<std::uint32_t> head_{0};     // next to be polled
  std::atomic<std::uint32_t> visible_{0};  // end of what poll() may take
  std::uint32_t tail_ = 0;                 // end of what was added; engine only
  bool dirty_ = false;                     // on the engine's list of queues to publish
  bool solicited_added_ = false;           // among what is not published

  std::atomic<bool> overrun_{false};

  // Under the engine lock:
  Moderation moderation_;
  std::uint32_t told_from_ = 0;  // head_ and visible_ when the last event was sent
  std::uint32_t told_end_ = 0;
  std::uint32_t unnotified_ = 0;        // completions that an armed queue has still to tell of
  transport::Time first_unnotified_{};  // since when there are any
  transport::Time notification_due_ = transport::kNever;
  bool is_put_off_ = false;               // on the engine's list of queues that wait with something
  transport::Duration event_delay_{};     // of the notification of first_unnotified_
  std::unique_ptr<CompletionPlay> play_;  // null unless there is an adversary

  // For whoever asks what the last event has told of; written under the engine lock:
  std::atomic<bool> only_told_of_old_{false};
  std::atomic<std::uint32_t> told_of_old_end_{0};

  enum class Armed : std::uint8_t { kNo, kSolicited, kAny };
  std::atomic<Armed> armed_{Armed::kNo};
};

template <typename Take>
std::size_t CompletionQueue::poll_each(std::size_t limit, Take take) {
  if (!has_any()) return 0;
  const std::lock_guard hold(poll_mutex_);
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  const std::uint32_t waiting = visible_.load(std::memory_order_acquire) - head;
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(waiting, limit));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = (head + i) & mask_;
    take(std::as_const(ring_[place]), times_ != nullptr ? &std::as_const(times_[place]) : nullptr);
  }
  head_.store(head + count, std::memory_order_release);
  return count;
}

}  // namespace urnic::nic
