// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/injection/completions.h"

#include <atomic>
#include <cerrno>

#include "transport/completion.h"
#include "transport/types.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/fault_injection.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/queues/cq.h"

namespace urnic::verbs_api {
namespace {

bool is_of_receive(const ibv_wc& completion) {
  return (static_cast<unsigned>(completion.opcode) & IBV_WC_RECV) != 0;
}

void fail_queue_pair(ibv_context* context, std::uint32_t qp_number, bool is_receive) {
  Context::of(context).nic().fail_completed_work(transport::QpNumber{qp_number}, is_receive);
}

/// What is left of a completion that fails.
void set_status(ibv_wc& completion, ibv_wc_status status) {
  ibv_wc failed{};
  failed.wr_id = completion.wr_id;
  failed.opcode = completion.opcode;
  failed.qp_num = completion.qp_num;
  failed.status = status;
  completion = failed;
}

// The functions that the functions of this file stand in front of: the same of all queues.
std::atomic<int (*)(ibv_cq_ex*, ibv_poll_cq_attr*)> real_start_poll;
std::atomic<int (*)(ibv_cq_ex*)> real_next_poll;
std::atomic<int (*)(ibv_qp_ex*)> real_wr_complete;

/// Of the completion that was just taken, with the queue's polling lock held.
void spoil_current(ibv_cq_ex* polled) {
  Cq& cq = Cq::of(polled);
  const bool receives = transport::is_receive(cq.current.opcode);
  const auto status = call_faults().strike_completion(receives);
  if (!status) return;
  cq.current = {.wr_id = cq.current.wr_id, .opcode = cq.current.opcode, .qp_number = cq.current.qp_number};
  cq.status = *status;
  fail_queue_pair(cq.context, to_integer(cq.current.qp_number), receives);
}

int guarded_start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) noexcept {
  if (const int error = injected_error(Verb::kStartPoll); error != 0) return refuse(error);
  const int result = real_start_poll.load(std::memory_order_relaxed)(cq, attributes);
  if (result == 0 && call_faults().has_any()) spoil_current(cq);
  return result;
}

int guarded_next_poll(ibv_cq_ex* cq) noexcept {
  if (const int error = injected_error(Verb::kNextPoll); error != 0) return refuse(error);
  const int result = real_next_poll.load(std::memory_order_relaxed)(cq);
  if (result == 0 && call_faults().has_any()) spoil_current(cq);
  return result;
}

/// Posts nothing of what was built.
int guarded_wr_complete(ibv_qp_ex* qp) noexcept {
  if (const int error = injected_error(Verb::kWrComplete); error != 0) {
    qp->wr_abort(qp);
    return refuse(error);
  }
  return real_wr_complete.load(std::memory_order_relaxed)(qp);
}

}  // namespace

void spoil_completions(ibv_cq& cq, std::span<ibv_wc> completions) {
  if (!call_faults().has_any()) return;
  for (std::size_t i = 0; i < completions.size(); ++i) {
    ibv_wc& completion = completions[i];
    const bool receives = is_of_receive(completion);
    const auto status = call_faults().strike_completion(receives);
    if (!status) continue;
    set_status(completion, *status);
    fail_queue_pair(cq.context, completion.qp_num, receives);
    // What this poll has taken, too.
    for (ibv_wc& later : completions.subspan(i + 1)) {
      const bool is_after_it = later.qp_num == completion.qp_num && is_of_receive(later) == receives;
      if (is_after_it && later.status == IBV_WC_SUCCESS) set_status(later, IBV_WC_WR_FLUSH_ERR);
    }
  }
}

void inject_faults(ibv_cq_ex& cq) {
  const CallFaults& faults = call_faults();
  if (!faults.has_any()) return;
  const bool looks_at_all = faults.has_statuses();
  if (looks_at_all || faults.concerns(Verb::kStartPoll)) {
    real_start_poll.store(cq.start_poll, std::memory_order_relaxed);
    cq.start_poll = guarded_start_poll;
  }
  if (looks_at_all || faults.concerns(Verb::kNextPoll)) {
    real_next_poll.store(cq.next_poll, std::memory_order_relaxed);
    cq.next_poll = guarded_next_poll;
  }
}

void inject_faults(ibv_qp_ex& qp) {
  if (!call_faults().concerns(Verb::kWrComplete)) return;
  real_wr_complete.store(qp.wr_complete, std::memory_order_relaxed);
  qp.wr_complete = guarded_wr_complete;
}

}  // namespace urnic::verbs_api
