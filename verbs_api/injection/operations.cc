// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Faults of the calls that programs make through the table of a context.
#include "verbs_api/abi/operations.h"

#include <cerrno>
#include <cstddef>
#include <span>
#include <type_traits>

#include "verbs_api/device/failure.h"
#include "verbs_api/device/fault_injection.h"
#include "verbs_api/fault/call_faults.h"
#include "verbs_api/injection/completions.h"

namespace urnic::verbs_api {
namespace {

/// How a verb says no: NULL and errno, or errno's value.
template <typename Answer>
Answer refusal(int error) {
  if constexpr (std::is_pointer_v<Answer>) {
    return fail(error);
  } else {
    return refuse(error);
  }
}

template <Verb verb, auto operation>
struct Guarded;

/// A call that may fail before it comes to the operation.
template <Verb verb, typename Answer, typename... Arguments, Answer (*operation)(Arguments...) noexcept>
struct Guarded<verb, operation> {
  static Answer call(Arguments... arguments) noexcept {
    if (const int error = injected_error(verb); error != 0) return refusal<Answer>(error);
    return operation(arguments...);
  }
};

template <Verb verb, auto operation>
struct GuardedPost;

/// The same for posting: a call that fails posts nothing, and names its first work request as the bad one.
template <Verb verb, typename Queue, typename WorkRequest,
          int (*operation)(Queue*, WorkRequest*, WorkRequest**) noexcept>
struct GuardedPost<verb, operation> {
  static int call(Queue* queue, WorkRequest* first, WorkRequest** bad) noexcept {
    if (const int error = injected_error(verb); error != 0) {
      if (bad != nullptr) *bad = first;
      return refuse(error);
    }
    return operation(queue, first, bad);
  }
};

int guarded_poll_cq(ibv_cq* cq, int capacity, ibv_wc* completions) noexcept {
  if (const int error = injected_error(Verb::kPollCq); error != 0) return -refuse(error);
  const int count = poll_cq(cq, capacity, completions);
  if (count > 0) spoil_completions(*cq, std::span(completions, static_cast<std::size_t>(count)));
  return count;
}

struct Guard {
  Verb verb;
  void (*install)(verbs_context& context);
};

template <Verb verb, auto slot, auto operation>
constexpr Guard extended() {
  return {verb, [](verbs_context& context) { context.*slot = Guarded<verb, operation>::call; }};
}

template <Verb verb, auto slot, auto operation>
constexpr Guard plain() {
  return {verb, [](verbs_context& context) { context.context.ops.*slot = Guarded<verb, operation>::call; }};
}

template <Verb verb, auto slot, auto operation>
constexpr Guard post() {
  return {verb,
          [](verbs_context& context) { context.context.ops.*slot = GuardedPost<verb, operation>::call; }};
}

using Table = verbs_context;
using Ops = ibv_context_ops;

constexpr Guard kGuards[] = {
    extended<Verb::kQueryPort, &Table::query_port, query_port>(),
    extended<Verb::kQueryDevice, &Table::query_device_ex, query_device_ex>(),
    extended<Verb::kQueryRtValues, &Table::query_rt_values, query_rt_values>(),
    extended<Verb::kCreateCq, &Table::create_cq_ex, create_cq_ex>(),
    extended<Verb::kModifyCq, &Table::modify_cq, modify_cq>(),
    extended<Verb::kCreateQp, &Table::create_qp_ex, create_qp_ex>(),
    extended<Verb::kOpenQp, &Table::open_qp, open_qp>(),
    extended<Verb::kAllocTd, &Table::alloc_td, alloc_td>(),
    extended<Verb::kDeallocTd, &Table::dealloc_td, dealloc_td>(),
    extended<Verb::kAllocParentDomain, &Table::alloc_parent_domain, alloc_parent_domain>(),
    extended<Verb::kGetSrqNum, &Table::get_srq_num, get_srq_number>(),
    extended<Verb::kCreateSrq, &Table::create_srq_ex, create_srq_ex>(),
    extended<Verb::kOpenXrcd, &Table::open_xrcd, open_xrcd>(),
    extended<Verb::kCloseXrcd, &Table::close_xrcd, close_xrcd>(),
    extended<Verb::kAllocNullMr, &Table::alloc_null_mr, alloc_null_mr>(),
    extended<Verb::kAdviseMr, &Table::advise_mr, advise_mr>(),
    extended<Verb::kAllocDm, &Table::alloc_dm, alloc_dm>(),
    extended<Verb::kFreeDm, &Table::free_dm, free_dm>(),
    extended<Verb::kRegDmMr, &Table::reg_dm_mr, register_dm>(),
    extended<Verb::kCreateWq, &Table::create_wq, create_wq>(),
    extended<Verb::kModifyWq, &Table::modify_wq, modify_wq>(),
    extended<Verb::kDestroyWq, &Table::destroy_wq, destroy_wq>(),
    extended<Verb::kCreateRwqIndTable, &Table::create_rwq_ind_table, create_rwq_ind_table>(),
    extended<Verb::kDestroyRwqIndTable, &Table::destroy_rwq_ind_table, destroy_rwq_ind_table>(),
    extended<Verb::kCreateFlow, &Table::ibv_create_flow, create_flow>(),
    extended<Verb::kDestroyFlow, &Table::ibv_destroy_flow, destroy_flow>(),
    extended<Verb::kCreateCounters, &Table::create_counters, create_counters>(),
    extended<Verb::kDestroyCounters, &Table::destroy_counters, destroy_counters>(),
    extended<Verb::kAttachCounters, &Table::attach_counters_point_flow, attach_counters>(),
    extended<Verb::kReadCounters, &Table::read_counters, read_counters>(),
    plain<Verb::kAllocMw, &Ops::alloc_mw, alloc_mw>(),
    plain<Verb::kDeallocMw, &Ops::dealloc_mw, dealloc_mw>(),
    plain<Verb::kBindMw, &Ops::bind_mw, bind_mw>(),
    plain<Verb::kReqNotifyCq, &Ops::req_notify_cq, request_notification>(),
    post<Verb::kPostSend, &Ops::post_send, post_send>(),
    post<Verb::kPostRecv, &Ops::post_recv, post_receive>(),
    post<Verb::kPostSrqRecv, &Ops::post_srq_recv, post_srq_receive>(),
    {Verb::kPollCq, [](verbs_context& context) { context.context.ops.poll_cq = guarded_poll_cq; }},
};

}  // namespace

void inject_faults(verbs_context& context) {
  const CallFaults& faults = call_faults();
  if (!faults.has_any()) return;
  for (const Guard& guard : kGuards) {
    if (faults.concerns(guard.verb)) guard.install(context);
  }
}

}  // namespace urnic::verbs_api
