// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Posting to a queue pair.
#include <cstring>
#include <utility>

#include "nic/queues/post_observer.h"
#include "nic/queues/post_run.h"
#include "nic/queues/queue_pair.h"

namespace urnic::nic {

using transport::QpState;
using transport::ReceiveRequest;
using transport::SendRequest;
using transport::Sge;

PostStatus QueuePair::can_post_send(const SendRequest& request, std::size_t sge_count) const {
  if (!may_post_sends(posted_state_.load(std::memory_order_relaxed))) {
    const bool is_lost = personality().early_post == EarlyPost::kTakenAndLost;
    return is_lost ? PostStatus::kLost : PostStatus::kWrongState;
  }
  if (!can_post(attributes_.type, request.operation)) return PostStatus::kBadRequest;
  if (restricts_atomics_ && !is_atomic_allowed(request)) [[unlikely]] {
    return PostStatus::kBadRequest;
  }
  if (send_queue_.is_full()) return PostStatus::kQueueFull;
  if (sge_count > send_queue_.limits().sges) return PostStatus::kTooManySges;
  return PostStatus::kPosted;
}

bool QueuePair::is_atomic_allowed(const SendRequest& request) const {
  constexpr std::uint64_t kAlignment = 8;
  if (!is_atomic(request.operation)) return true;
  return personality().atomics == Offer::kYes && request.remote_address % kAlignment == 0;
}

PostStatus QueuePair::can_post_receive(std::size_t sge_count) const {
  if (!may_post_receives(posted_state_.load(std::memory_order_relaxed))) {
    const bool is_lost = personality().early_receive == EarlyPost::kTakenAndLost;
    return is_lost ? PostStatus::kLost : PostStatus::kWrongState;
  }
  if (attributes_.srq != nullptr || !has_receive_queue(attributes_.type)) return PostStatus::kBadRequest;
  if (receive_queue_.is_full()) return PostStatus::kQueueFull;
  if (sge_count > receive_queue_.limits().sges) return PostStatus::kTooManySges;
  return PostStatus::kPosted;
}

QueuePair::SendBatch::SendBatch(QueuePair& qp)
    : qp_(qp), lock_(lock_unless_abandoned(qp.send_mutex_, qp.engine_)) {}

QueuePair::SendBatch::SendBatch(SendBatch&& other) noexcept
    : qp_(other.qp_),
      lock_(std::move(other.lock_)),
      posted_(std::exchange(other.posted_, 0)),
      bytes_(other.bytes_) {}

QueuePair::SendBatch::~SendBatch() {
  if (posted_ == 0) return;
  PostRun& run = PostRun::of_this_thread();
  QueueEngine& engine = qp_.engine_;
  const bool is_followed = run.on_post(engine.clock().ticks());
  const bool can_wait = qp_.can_wait_for_next(bytes_, is_followed);
  qp_.send_queue_.publish();
  lock_.unlock();
  if (can_wait && engine.ring_with_next(qp_)) return;
  if (!can_wait) {
    engine.ring(qp_);
    qp_.keep_unsent();
  }
  run.on_posted(engine.clock().ticks());
}

PostStatus QueuePair::SendBatch::post(const SendRequest& request, std::span<const Sge> sges) {
  const PostStatus status = take(request, sges);
  if (qp_.post_watch_ != nullptr) [[unlikely]] {
    qp_.post_watch_->on_send(request, sges, 0, status);
  }
  return status;
}

PostStatus QueuePair::SendBatch::post_inline(const SendRequest& request, std::span<const Sge> sges) {
  const PostStatus status = take_inline(request, sges);
  if (qp_.post_watch_ != nullptr) [[unlikely]] {
    qp_.post_watch_->on_send(request, {}, total_length(sges), status);
  }
  return status;
}

PostStatus QueuePair::SendBatch::take(const SendRequest& request, std::span<const Sge> sges) {
  if (!lock_.owns_lock()) return PostStatus::kAbandoned;
  if (const PostStatus status = qp_.can_post_send(request, sges.size()); status != PostStatus::kPosted) {
    return status;
  }
  const std::uint64_t length = total_length(sges);
  if (length > transport::kMaxMessageBytes) return PostStatus::kTooLong;

  qp_.send_queue_.prepare(request, sges, static_cast<std::uint32_t>(length));
  note_posted(request, length);
  return PostStatus::kPosted;
}

PostStatus QueuePair::SendBatch::take_inline(const SendRequest& request, std::span<const Sge> sges) {
  if (!lock_.owns_lock()) return PostStatus::kAbandoned;
  if (!sends_data(request.operation)) return PostStatus::kNotSupported;
  // Elements are not kept, so there may be any number of them.
  if (const PostStatus status = qp_.can_post_send(request, 0); status != PostStatus::kPosted) return status;
  const std::uint64_t length = total_length(sges);
  if (length > qp_.send_queue_.limits().inline_bytes) return PostStatus::kTooLong;

  std::byte* to = qp_.send_queue_.prepare_inline(request, static_cast<std::uint32_t>(length)).data();
  note_posted(request, length);
  for (const Sge& sge : sges) {
    if (sge.length == 0) continue;  // its address need not be one
    std::memcpy(to, reinterpret_cast<const void*>(sge.address), sge.length);
    to += sge.length;
  }
  return PostStatus::kPosted;
}

void QueuePair::SendBatch::note_posted(const SendRequest& request, std::uint64_t bytes) {
  if (qp_.attributes_.all_signaled) qp_.send_queue_.signal_newest();
  ++posted_;
  bytes_ += bytes;
  if (PostObserver* const observer = qp_.engine_.post_observer()) [[unlikely]] {
    SendRequest posted = request;
    posted.signaled |= qp_.attributes_.all_signaled;
    observer->on_posted(qp_.number_, posted, bytes);
  }
}

void QueuePair::SendBatch::abort() {
  if (posted_ == 0) return;
  qp_.send_queue_.discard();
  if (PostObserver* const observer = qp_.engine_.post_observer()) [[unlikely]] {
    observer->on_posts_aborted(qp_.number_);
  }
  if (qp_.post_watch_ != nullptr) [[unlikely]] {
    qp_.post_watch_->on_sends_aborted(posted_);
  }
  posted_ = 0;
}

bool QueuePair::can_wait_for_next(std::uint64_t bytes, bool is_followed) {
  const bool is_acknowledged = is_connected(attributes_.type) && !is_unreliable(attributes_.type);
  const bool has_others = !send_queue_.is_consumed();
  const bool has_room = waiting_posts_ < kMostWaitingPosts && bytes <= kMostWaitingBytes - waiting_bytes_;
  if (!is_followed || !is_acknowledged || !has_others || !has_room) {
    waiting_posts_ = 0;
    waiting_bytes_ = 0;
    return false;
  }
  ++waiting_posts_;
  waiting_bytes_ += bytes;
  return true;
}

void QueuePair::keep_unsent() {
  if (send_queue_.limits().kept_bytes == 0 || send_queue_.is_consumed()) return;
  const std::lock_guard guard(engine_);
  endpoint_->keep_unsent();
}

QueuePair::ReceiveBatch::ReceiveBatch(QueuePair& qp)
    : qp_(qp), lock_(lock_unless_abandoned(qp.receive_mutex_, qp.engine_)) {}

QueuePair::ReceiveBatch::~ReceiveBatch() {
  if (!posted_) return;
  qp_.receive_queue_.publish();
  const bool must_flush = qp_.must_flush_receives();
  lock_.unlock();
  if (must_flush) qp_.engine_.ring(qp_);
}

PostStatus QueuePair::ReceiveBatch::post(const ReceiveRequest& request, std::span<const Sge> sges) {
  const PostStatus status = take(request, sges);
  if (qp_.post_watch_ != nullptr) [[unlikely]] {
    qp_.post_watch_->on_receive(request, sges, status);
  }
  return status;
}

PostStatus QueuePair::ReceiveBatch::take(const ReceiveRequest& request, std::span<const Sge> sges) {
  if (!lock_.owns_lock()) return PostStatus::kAbandoned;
  if (const PostStatus status = qp_.can_post_receive(sges.size()); status != PostStatus::kPosted) {
    return status;
  }
  const std::uint64_t length = total_length(sges);
  if (length > transport::kMaxMessageBytes) return PostStatus::kTooLong;
  qp_.receive_queue_.prepare(request, sges, static_cast<std::uint32_t>(length));
  posted_ = true;
  if (PostObserver* const observer = qp_.engine_.post_observer()) [[unlikely]] {
    observer->on_posted("qp", to_integer(qp_.number_), request, length);
  }
  return PostStatus::kPosted;
}

// A read-modify-write, as note_state() does one: whichever comes second knows what the other did before.
// Either we see the new state and ring, or the engine sees our receive when it flushes.
bool QueuePair::must_flush_receives() {
  QpState state = posted_state_.load(std::memory_order_relaxed);
  while (!posted_state_.compare_exchange_weak(state, state, std::memory_order_acq_rel)) {
  }
  return state == QpState::kError;
}

}  // namespace urnic::nic
