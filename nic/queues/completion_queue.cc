// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/completion_queue.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "nic/errors.h"
#include "nic/personality/room.h"
#include "nic/queues/exact_room.h"
#include "nic/queues/post_run.h"
#include "transport/queue_room.h"

namespace urnic::nic {

using transport::Completion;
using transport::QueueKind;

namespace {

std::uint32_t capacity_for(std::uint32_t wanted, const QueueEngine& engine) {
  const std::uint32_t granted = granted_completions(*engine.config().personality, wanted);
  return transport::granted_requests(granted, has_exact_room(engine));
}

std::unique_ptr<CompletionPlay> make_play(const QueueEngine& engine) {
  Adversary* const adversary = engine.adversary();
  return adversary != nullptr ? std::make_unique<CompletionPlay>(*adversary) : nullptr;
}

transport::QueueMemory* memory_of(const ProtectionDomain* pd) {
  return pd != nullptr ? pd->memory : nullptr;
}

}  // namespace

CompletionQueue::CompletionQueue(QueueEngine& engine, std::uint32_t capacity, CompletionChannel* channel,
                                 void* context, const CompletionQueueOptions& options)
    : engine_(engine),
      capacity_(capacity_for(capacity, engine)),
      mask_(transport::places_for(capacity_) - 1),
      ring_(std::size_t{mask_} + 1, QueueKind::kCompletion, memory_of(options.pd)),
      times_(options.has_times ? std::make_unique<CompletionTimes[]>(std::size_t{mask_} + 1) : nullptr),
      pd_(options.pd),
      channel_(channel),
      context_(context),
      play_(make_play(engine)) {}

// Together with request_notification() and publish(): a program that asks for a notification and then finds
// nothing here will be notified, since both sides first write and then look, in one order that all threads
// agree on.
bool CompletionQueue::is_empty() const {
  return head_.load(std::memory_order_relaxed) == visible_.load(std::memory_order_seq_cst);
}

bool CompletionQueue::has_any() {
  if (engine_.is_abandoned()) return false;
  if (PostRun& run = PostRun::of_this_thread(); run.is_open()) run.on_poll(engine_.clock().ticks());
  if (!is_empty() && !engine_.has_rung()) return true;
  engine_.on_poll();
  return !is_empty();
}

std::size_t CompletionQueue::poll(std::span<Completion> completions, std::span<CompletionTimes> times) {
  std::size_t taken = 0;
  return poll_each(completions.size(), [&](const Completion& completion, const CompletionTimes* when) {
    if (when != nullptr && !times.empty()) times[taken] = *when;
    completions[taken++] = completion;
  });
}

void CompletionQueue::request_notification(bool solicited_only) {
  if (channel_ == nullptr || engine_.is_abandoned()) return;
  const Armed wanted = solicited_only ? Armed::kSolicited : Armed::kAny;
  // Counted before it can be taken back.
  engine_.on_queue_armed();
  Armed before = armed_.load(std::memory_order_seq_cst);
  // A request for less does not take back an earlier one for more.
  while (before < wanted && !armed_.compare_exchange_weak(before, wanted, std::memory_order_seq_cst)) {
  }
  if (before != Armed::kNo) engine_.on_queue_disarmed();
  engine_.on_notification_requested();
  // What is published from here on finds the queue armed.
  if (play_ != nullptr && is_told_by_adversary()) return;
  if (before < wanted && !is_empty()) notify_of_waiting();
}

/// Whether the adversary has the say about what the program hears now that it has armed the queue.
bool CompletionQueue::is_told_by_adversary() {
  const std::lock_guard guard(engine_);
  play_->note_arming();
  if (!is_empty()) return play_->is_silent();
  if (armed_.load(std::memory_order_seq_cst) != Armed::kNo && play_->has_spurious_event()) notify();
  return true;
}

/// The queue was armed over completions that may have been published before. publish() may have told of them
/// since, or counted them.
void CompletionQueue::notify_of_waiting() {
  const std::lock_guard guard(engine_);
  const std::uint32_t head = head_.load(std::memory_order_acquire);
  const std::uint32_t visible = visible_.load(std::memory_order_relaxed);
  const std::uint32_t told_end = head == told_from_ ? told_end_ : head;
  const std::uint32_t waiting = visible - told_end;
  const std::uint32_t from = visible - waiting;
  switch (armed_.load(std::memory_order_seq_cst)) {
    case Armed::kNo:
      return;
    case Armed::kSolicited:
      if (has_solicited(from, visible)) notify();
      break;
    case Armed::kAny:
      if (waiting > unnotified_) notify_of(waiting - unnotified_, engine_.clock().now());
      break;
  }
  const bool has_notified = armed_.load(std::memory_order_relaxed) == Armed::kNo;
  if (!has_notified || channel_->events_of(*this) != 1) return;
  told_of_old_end_.store(visible, std::memory_order_relaxed);
  only_told_of_old_.store(true, std::memory_order_relaxed);
}

bool CompletionQueue::is_asleep() const {
  if (engine_.is_abandoned()) return false;
  const std::lock_guard guard(engine_);
  return armed_.load(std::memory_order_relaxed) == Armed::kAny && !is_put_off_ && !is_empty() &&
         channel_->events_of(*this) == 0;
}

Result<void, Error> CompletionQueue::resize(std::uint32_t capacity) {
  // Memory comes and goes without a lock: the old rings are freed last.
  const std::uint32_t granted = capacity_for(capacity, engine_);
  const std::uint32_t mask = transport::places_for(granted) - 1;
  transport::QueueArray<Completion> ring(std::size_t{mask} + 1, QueueKind::kCompletion, memory_of(pd_));
  auto times = times_ != nullptr ? std::make_unique<CompletionTimes[]>(std::size_t{mask} + 1) : nullptr;
  const std::lock_guard guard(engine_);
  const std::lock_guard hold(poll_mutex_);
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  if (tail_ - head > capacity) {
    return failure(invalid("more completions wait in the queue than would have room"));
  }
  // Positions are numbers that never go back, so that everything keeps its own.
  for (std::uint32_t at = head; at != tail_; ++at) {
    ring[at & mask] = ring_[at & mask_];
    if (times != nullptr) times[at & mask] = times_[at & mask_];
  }
  ring_.swap(ring);
  std::swap(times_, times);
  capacity_ = granted;
  mask_ = mask;
  return success();
}

void CompletionQueue::complete(const Completion& completion) {
  if (tail_ - head_.load(std::memory_order_acquire) == capacity_) {
    if (!overrun_.exchange(true, std::memory_order_relaxed)) engine_.on_cq_overrun(*this);
    return;
  }
  ring_[tail_ & mask_] = completion;
  ++tail_;
  solicited_added_ = solicited_added_ || completion.solicited;
  if (!std::exchange(dirty_, true)) engine_.add_to_publish(*this);
}

/// One time for all that this round has added. The round's own time would not do: work that was posted after
/// its beginning may be done in it.
void CompletionQueue::note_times(std::uint32_t from) {
  const CompletionTimes times{.device = engine_.clock().now(), .wall_time = engine_.clock().wall_time()};
  for (; from != tail_; ++from) times_[from & mask_] = times;
}

bool CompletionQueue::publish(transport::Time now) {
  const std::uint32_t from = visible_.load(std::memory_order_relaxed);
  std::uint32_t to = tail_;
  bool is_solicited = std::exchange(solicited_added_, false);
  dirty_ = false;
  if (play_ != nullptr) [[unlikely]] {
    to = end_of_shown(from, now);
    is_solicited = has_solicited(from, to);
  }
  if (to == from) return false;
  if (times_ != nullptr) note_times(from);
  visible_.store(to, std::memory_order_seq_cst);

  const Armed armed = armed_.load(std::memory_order_seq_cst);
  if (armed == Armed::kNo || (armed == Armed::kSolicited && !is_solicited)) return true;
  if (armed == Armed::kAny) {
    notify_of(to - from, now);
  } else {
    notify();
  }
  return true;
}

/// As the adversary has it.
std::uint32_t CompletionQueue::end_of_shown(std::uint32_t from, transport::Time now) {
  {
    const std::lock_guard nobody_polls(poll_mutex_);
    play_->rearrange(from, tail_ - from,
                     [&](std::uint32_t n) -> Completion& { return ring_[(from + n) & mask_]; });
  }
  const std::uint32_t to = from + play_->count_shown(from, tail_ - from, capacity_, now);
  if (play_->due() != transport::kNever) put_off(play_->due());
  return to;
}

/// Tells of `count` more completions, now or later.
void CompletionQueue::notify_of(std::uint32_t count, transport::Time now) {
  if (unnotified_ == 0) {
    first_unnotified_ = now;
    if (play_ != nullptr) event_delay_ = play_->event_delay(visible_.load(std::memory_order_relaxed));
  }
  unnotified_ += count;
  const bool is_enough = moderation_.count > 0 && unnotified_ >= moderation_.count;
  const transport::Time due = first_unnotified_ + std::max(moderation_.period, event_delay_);
  if ((is_enough && event_delay_ == transport::Duration{}) || due <= now) return notify();
  notification_due_ = due;
  put_off(due);
}

void CompletionQueue::put_off(transport::Time due) {
  if (!std::exchange(is_put_off_, true)) engine_.add_put_off(*this);
  engine_.on_deadline(due);
}

transport::Time CompletionQueue::notification_due() const {
  return play_ != nullptr ? std::min(notification_due_, play_->due()) : notification_due_;
}

bool CompletionQueue::notify_if_due(transport::Time now) {
  bool is_due = notification_due_ <= now;
  if (is_due) notify();
  if (play_ != nullptr && play_->due() <= now) is_due |= publish(now);
  is_put_off_ = notification_due() != transport::kNever;
  return is_due;
}

bool CompletionQueue::keeps_completions_of(transport::QpNumber qp) {
  return play_ != nullptr && play_->keeps(qp);
}

void CompletionQueue::notify() {
  unnotified_ = 0;
  told_from_ = head_.load(std::memory_order_relaxed);
  told_end_ = visible_.load(std::memory_order_relaxed);
  notification_due_ = transport::kNever;
  armed_.store(Armed::kNo, std::memory_order_seq_cst);
  only_told_of_old_.store(false, std::memory_order_relaxed);
  channel_->notify(*this);
  engine_.on_queue_disarmed();
}

void CompletionQueue::moderate(Moderation moderation) {
  if (engine_.is_abandoned()) return;
  const std::lock_guard guard(engine_);
  moderation_ = moderation;
  // What was put off under the old rule follows the new one.
  if (notification_due_ != transport::kNever) notify_of(0, engine_.clock().now());
}

void CompletionQueue::flush_waiting(transport::QpNumber qp, bool is_receive) {
  const std::lock_guard nobody_polls(poll_mutex_);
  for (std::uint32_t at = head_.load(std::memory_order_relaxed); at != tail_; ++at) {
    Completion& completion = ring_[at & mask_];
    const bool is_meant =
        completion.qp_number == qp && transport::is_receive(completion.opcode) == is_receive;
    if (is_meant && completion.status == transport::CompletionStatus::kSuccess) {
      completion.status = transport::CompletionStatus::kWorkRequestFlushed;
    }
  }
}

std::uint32_t CompletionQueue::discard(transport::QpNumber qp) {
  const std::lock_guard nobody_polls(poll_mutex_);
  const std::uint32_t visible = visible_.load(std::memory_order_relaxed);
  std::uint32_t to = head_.load(std::memory_order_relaxed);
  // How many are taken out before each of the marks, which may stand before the first or after the last
  // completion.
  std::uint32_t before_visible = 0;
  std::uint32_t before_told_end = 0;
  std::uint32_t of_unnotified = 0;
  std::uint32_t receives = 0;
  for (std::uint32_t from = to; from != tail_; ++from) {
    const auto is_behind = [from](std::uint32_t mark) { return static_cast<std::int32_t>(mark - from) > 0; };
    if (ring_[from & mask_].qp_number == qp) {
      receives += is_receive(ring_[from & mask_].opcode) ? 1 : 0;
      before_visible += is_behind(visible) ? 1 : 0;
      before_told_end += is_behind(told_end_) ? 1 : 0;
      of_unnotified += is_behind(visible) && !is_behind(visible - unnotified_) ? 1 : 0;
      continue;
    }
    ring_[to & mask_] = ring_[from & mask_];
    if (times_ != nullptr) times_[to & mask_] = times_[from & mask_];
    ++to;
  }
  visible_.store(visible - before_visible, std::memory_order_seq_cst);
  told_end_ -= before_told_end;
  tail_ = to;
  solicited_added_ = has_solicited(visible_.load(std::memory_order_relaxed), tail_);
  unnotified_ -= of_unnotified;
  if (unnotified_ == 0) notification_due_ = transport::kNever;
  return receives;
}

bool CompletionQueue::has_solicited(std::uint32_t from, std::uint32_t to) const {
  for (std::uint32_t at = from; at != to; ++at) {
    if (ring_[at & mask_].solicited) return true;
  }
  return false;
}

void CompletionQueue::retire() {
  if (channel_ == nullptr) return;
  if (armed_.exchange(Armed::kNo) != Armed::kNo) engine_.on_queue_disarmed();
  channel_->forget(*this);
}

}  // namespace urnic::nic
