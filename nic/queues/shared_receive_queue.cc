// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/shared_receive_queue.h"

#include <mutex>
#include <new>

#include "nic/errors.h"
#include "nic/queues/exact_room.h"
#include "nic/queues/post_observer.h"

namespace urnic::nic {

using transport::ReceiveRequest;
using transport::Sge;

SharedReceiveQueue::SharedReceiveQueue(QueueEngine& engine, std::uint32_t number,
                                       const SrqCreateAttributes& attributes)
    : engine_(engine),
      number_(number),
      attributes_(attributes),
      queue_(limits(attributes.max_wr), attributes.pd->memory) {
  attributes_.max_wr = queue_.limits().work_requests;
  attributes_.max_sge = queue_.limits().sges;
  // The completions of an XRC target do not lead here.
  const bool is_polled = engine.config().personality->receive_room == RoomReturn::kWhenPolled;
  if (!is_polled || attributes.xrc_domain != nullptr) return;
  unpolled_ = std::make_shared<std::atomic<std::uint32_t>>(0);
  queue_.count_taken_in(*unpolled_);
}

transport::ReceiveQueue::Limits SharedReceiveQueue::limits(std::uint32_t max_wr) const {
  return {.work_requests = max_wr, .sges = attributes_.max_sge, .is_exact = has_exact_room(engine_)};
}

SharedReceiveQueue::Batch::Batch(SharedReceiveQueue& srq)
    : srq_(srq), lock_(lock_unless_abandoned(srq.mutex_, srq.engine_)) {}

SharedReceiveQueue::Batch::~Batch() {
  if (posted_) srq_.queue_.publish();
}

PostStatus SharedReceiveQueue::Batch::post(const ReceiveRequest& request, std::span<const Sge> sges) {
  const PostStatus status = take(request, sges);
  if (srq_.post_watch_ != nullptr) [[unlikely]] {
    srq_.post_watch_->on_receive(request, sges, status);
  }
  return status;
}

PostStatus SharedReceiveQueue::Batch::take(const ReceiveRequest& request, std::span<const Sge> sges) {
  if (!lock_.owns_lock()) return PostStatus::kAbandoned;
  if (srq_.queue_.is_full()) return PostStatus::kQueueFull;
  if (sges.size() > srq_.queue_.limits().sges) return PostStatus::kTooManySges;
  const std::uint64_t length = total_length(sges);
  if (length > transport::kMaxMessageBytes) return PostStatus::kTooLong;
  srq_.queue_.prepare(request, sges, static_cast<std::uint32_t>(length));
  posted_ = true;
  if (PostObserver* const observer = srq_.engine_.post_observer()) [[unlikely]] {
    observer->on_posted("srq", srq_.number_, request, length);
  }
  return PostStatus::kPosted;
}

Result<void, Error> SharedReceiveQueue::modify(const Changes& changes) {
  if (engine_.is_abandoned()) return failure(abandoned_error());
  if (!changes.max_wr) return apply(changes, nullptr);
  if (*changes.max_wr == 0 || *changes.max_wr > DeviceLimits::kMaxWorkRequests) {
    return failure(
        invalid("a shared receive queue has at least one work request, and not more than the device allows"));
  }
  // Memory is had before, and given back after, the time in which no thread can post or receive.
  try {
    transport::ReceiveQueue resized(limits(*changes.max_wr), attributes_.pd->memory);
    return apply(changes, &resized);
  } catch (const std::bad_alloc&) {
    return failure(out_of("there is no memory for the shared receive queue"));
  }
}

Result<void, Error> SharedReceiveQueue::apply(const Changes& changes, transport::ReceiveQueue* resized) {
  const std::lock_guard nobody_posts(mutex_);
  const std::lock_guard guard(engine_);
  const std::uint32_t limit = changes.limit.value_or(queue_.limit());
  const std::uint32_t room = resized != nullptr ? *changes.max_wr : queue_.limits().work_requests;
  if (queue_.size() > room) {
    return failure(invalid("more receives wait than the shared receive queue would hold"));
  }
  if (limit > room) return failure(invalid("the limit is more than the shared receive queue holds"));
  if (resized != nullptr) queue_.exchange_rings(*resized);
  if (changes.limit) queue_.arm_limit(limit, this);
  return success();
}

SharedReceiveQueue::Size SharedReceiveQueue::size() const {
  if (engine_.is_abandoned()) return {.max_wr = attributes_.max_wr};
  const std::lock_guard guard(engine_);
  return {.max_wr = queue_.limits().work_requests, .limit = queue_.limit()};
}

std::uint32_t SharedReceiveQueue::waiting() const {
  if (engine_.is_abandoned()) return 0;
  const std::lock_guard guard(engine_);
  return static_cast<std::uint32_t>(queue_.size());
}

transport::ReceiveEnd SharedReceiveQueue::receive_end(CompletionQueue* completions) {
  CompletionQueue* const own = attributes_.completions;
  return {.queue = &queue_,
          .completions = own != nullptr ? own : completions,
          .pd = attributes_.pd->id,
          .is_shared = true,
          .srq = number_};
}

void SharedReceiveQueue::on_limit_reached() {
  engine_.on_srq_limit(*this);
}

}  // namespace urnic::nic
