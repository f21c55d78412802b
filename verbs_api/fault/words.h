// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What people call errors, statuses of completions, and events, when they write faults of calls.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nic/rdma_cm/types.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/fault/verb.h"

namespace urnic::verbs_api {

/// The value of "ENOMEM"; nothing for what is no name of errno.
std::optional<int> errno_named(std::string_view name);
/// Names like `name`, with commas between.
std::string errnos_like(std::string_view name);

/// The failures that a completion can have, without IBV_WC_; a name may have it.
std::optional<ibv_wc_status> failure_named(std::string_view name);
std::string failures_like(std::string_view name);
std::string_view name_of(ibv_wc_status status);

/// States of queue pairs, without IBV_QPS_.
std::optional<ibv_qp_state> state_named(std::string_view name);
inline constexpr std::string_view kStateNames = "RESET, INIT, RTR, RTS, SQD, SQE, ERR";

/// An asynchronous event.
struct AsyncEventRow {
  enum class Subject : std::uint8_t { kOfDevice, kOfPort, kOfQp, kOfCq, kOfSrq };

  std::string_view name;  ///< without IBV_EVENT_
  ibv_event_type type;
  Subject subject;
  /// Whether its queue pair, or those that use its queue, go to ERR; of the device: all of them.
  bool breaks_queue_pairs = false;
};
/// Null: there is none that can be raised. A name may have IBV_EVENT_.
const AsyncEventRow* find_async_event(std::string_view name);
/// All names, with commas between.
std::string async_event_names();

/// An event of rdma_cm that says that a call has failed.
struct CmEventRow {
  Verb verb;
  std::string_view name;  ///< without RDMA_CM_EVENT_
  nic::rdma_cm::EventType type;
  int usual_status;  ///< a negative errno value; of REJECTED the reason
};
/// Null: it does not follow that call. A name may have RDMA_CM_EVENT_.
const CmEventRow* find_cm_event(Verb verb, std::string_view name);
/// Of that call, with commas between; empty if there are none.
std::string cm_event_names(Verb verb);

}  // namespace urnic::verbs_api
