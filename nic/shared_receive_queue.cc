#include "nic/shared_receive_queue.h"

#include <cerrno>

#include "nic/engine.h"

namespace urnic::nic {

using transport::ReceiveRequest;
using transport::Sge;

SharedReceiveQueue::SharedReceiveQueue(Engine& engine, std::uint32_t number, const SrqCreateAttributes& attributes)
    : engine_(engine),
      number_(number),
      attributes_(attributes),
      queue_({.work_requests = attributes.max_wr, .sges = attributes.max_sge}, attributes.pd->memory) {
  attributes_.max_wr = queue_.limits().work_requests;
  attributes_.max_sge = queue_.limits().sges;
}

SharedReceiveQueue::Batch::Batch(SharedReceiveQueue& srq)
    : srq_(srq), lock_(lock_unless_abandoned(srq.mutex_, srq.engine_)) {}

SharedReceiveQueue::Batch::~Batch() {
  if (posted_) srq_.queue_.publish();
}

PostStatus SharedReceiveQueue::Batch::post(const ReceiveRequest& request, std::span<const Sge> sges) {
  if (!lock_.owns_lock()) return PostStatus::kAbandoned;
  if (srq_.queue_.is_full()) return PostStatus::kQueueFull;
  if (sges.size() > srq_.queue_.limits().sges) return PostStatus::kTooManySges;
  const std::uint64_t length = total_length(sges);
  if (length > transport::kMaxMessageBytes) return PostStatus::kTooLong;
  srq_.queue_.prepare(request, sges, static_cast<std::uint32_t>(length));
  posted_ = true;
  return PostStatus::kPosted;
}

Result<void, Error> SharedReceiveQueue::arm(std::uint32_t limit) {
  if (engine_.is_abandoned()) return failure(abandoned_error());
  if (limit > queue_.limits().work_requests) {
    return failure(Error{.code = EINVAL, .message = "the limit is more than the shared receive queue holds"});
  }
  const Engine::Guard guard(engine_);
  queue_.arm_limit(limit, this);
  return success();
}

std::uint32_t SharedReceiveQueue::limit() const {
  if (engine_.is_abandoned()) return 0;
  const Engine::Guard guard(engine_);
  return queue_.limit();
}

transport::ReceiveEnd SharedReceiveQueue::receive_end(CompletionQueue* completions) {
  CompletionQueue* const own = attributes_.completions;
  return {.queue = &queue_,
          .completions = own != nullptr ? own : completions,
          .pd = attributes_.pd->id,
          .is_shared = true};
}

void SharedReceiveQueue::on_limit_reached() { engine_.on_srq_limit(*this); }

}  // namespace urnic::nic
