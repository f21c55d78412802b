// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ibv_bind_mw: a window of type 1 is bound by a verb of its own, which posts.
#include <atomic>
#include <cerrno>

#include "verbs_api/abi/operations.h"
#include "verbs_api/device/context.h"
#include "verbs_api/memory/mw.h"
#include "verbs_api/queues/post_error.h"
#include "verbs_api/queues/qp.h"

namespace urnic::verbs_api {

// The header has checked that the window is of type 1, and of the region's protection domain. Whether that is
// the queue pair's is found out when it is executed.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* mw_bind) noexcept {
  constexpr unsigned int kKnownFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;

  const Context& owner = Context::of(qp->context);
  if (owner.is_dead()) return owner.dead_error();
  if ((mw_bind->send_flags & ~kKnownFlags) != 0) return EINVAL;
  // Of type 1 none counts from zero: o10-36.2.2 as cited by Linux' rxe_mw.c.
  if ((mw_bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0) return EINVAL;
  // Other threads may be changing the field by the same verb.
  const std::uint32_t new_rkey = ibv_inc_rkey(std::atomic_ref(mw->rkey).load(std::memory_order_relaxed));
  const auto binding = to_binding(*mw, new_rkey, mw_bind->bind_info);
  if (!binding) return binding.error();
  nic::QueuePair::SendBatch batch(*Qp::of(qp).inner);
  const auto status = batch.post({.wr_id = mw_bind->wr_id,
                                  .operation = transport::SendOperation::kBindWindow,
                                  .signaled = (mw_bind->send_flags & IBV_SEND_SIGNALED) != 0,
                                  .fence = (mw_bind->send_flags & IBV_SEND_FENCE) != 0,
                                  .binding = binding.value()},
                                 {});
  if (status == nic::PostStatus::kPosted) show_key(*mw, binding.value().new_rkey);
  return errno_of(status);
}

}  // namespace urnic::verbs_api
