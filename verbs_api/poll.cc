// Completions by ibv_poll_cq, and asking to be told of them.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "verbs_api/completion.h"
#include "verbs_api/context.h"
#include "verbs_api/cq.h"
#include "verbs_api/operations.h"

namespace urnic::verbs_api {
namespace {

/// Takes up to `room.size()` completions, `Batch` at a time; the size of the batch is a cost when there are
/// none.
template <std::size_t Batch>
std::size_t take(nic::CompletionQueue& queue, std::span<ibv_wc> room) {
  std::array<transport::Completion, Batch> batch;
  std::size_t taken = 0;
  while (taken < room.size()) {
    const std::size_t wanted = std::min(Batch, room.size() - taken);
    const std::size_t got = queue.poll(std::span(batch).first(wanted));
    for (std::size_t i = 0; i < got; ++i) {
      room[taken + i] = to_wc(batch[i]);
    }
    taken += got;
    if (got < wanted) {
      break;
    }
  }
  return taken;
}

}  // namespace

int poll_cq(ibv_cq* cq, int capacity, ibv_wc* completions) noexcept {
  Cq& polled = Cq::of(cq);
  const Context& owner = Context::of(cq->context);
  if (owner.is_dead()) [[unlikely]] {
    return -owner.dead_error();
  }
  if (capacity <= 0) {
    return capacity == 0 ? 0 : -EINVAL;
  }
  const std::span room(completions, static_cast<std::size_t>(capacity));
  const std::size_t taken = capacity == 1 ? take<1>(*polled.inner, room) : take<16>(*polled.inner, room);
  return static_cast<int>(taken);
}

int request_notification(ibv_cq* cq, int solicited_only) noexcept {
  const Context& owner = Context::of(cq->context);
  if (owner.is_dead()) {
    return owner.dead_error();
  }
  Cq::of(cq).inner->request_notification(solicited_only != 0);
  return 0;
}

}  // namespace urnic::verbs_api
