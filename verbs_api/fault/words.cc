// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/fault/words.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "verbs_api/fault/likeness.h"

namespace urnic::verbs_api {
namespace {

/// Linux has fewer.
constexpr int kEndOfErrnos = 134;

struct ErrnoName {
  std::string_view name;
  int value;
};

// Second names, which the C library does not tell.
constexpr auto kOtherErrnoNames =
    std::to_array<ErrnoName>({{"EWOULDBLOCK", EWOULDBLOCK}, {"ENOTSUP", ENOTSUP}, {"EDEADLOCK", EDEADLOCK}});

struct StatusName {
  std::string_view name;
  ibv_wc_status status;
};

constexpr auto kFailures = std::to_array<StatusName>({
    {"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
    {"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
    {"LOC_EEC_OP_ERR", IBV_WC_LOC_EEC_OP_ERR},
    {"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},
    {"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
    {"MW_BIND_ERR", IBV_WC_MW_BIND_ERR},
    {"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
    {"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},
    {"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
    {"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},
    {"REM_OP_ERR", IBV_WC_REM_OP_ERR},
    {"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},
    {"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR},
    {"LOC_RDD_VIOL_ERR", IBV_WC_LOC_RDD_VIOL_ERR},
    {"REM_INV_RD_REQ_ERR", IBV_WC_REM_INV_RD_REQ_ERR},
    {"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},
    {"INV_EECN_ERR", IBV_WC_INV_EECN_ERR},
    {"INV_EEC_STATE_ERR", IBV_WC_INV_EEC_STATE_ERR},
    {"FATAL_ERR", IBV_WC_FATAL_ERR},
    {"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR},
    {"GENERAL_ERR", IBV_WC_GENERAL_ERR},
});

struct StateName {
  std::string_view name;
  ibv_qp_state state;
};

constexpr auto kStates = std::to_array<StateName>({
    {"RESET", IBV_QPS_RESET},
    {"INIT", IBV_QPS_INIT},
    {"RTR", IBV_QPS_RTR},
    {"RTS", IBV_QPS_RTS},
    {"SQD", IBV_QPS_SQD},
    {"SQE", IBV_QPS_SQE},
    {"ERR", IBV_QPS_ERR},
});

using Subject = AsyncEventRow::Subject;

constexpr auto kAsyncEvents = std::to_array<AsyncEventRow>({
    {"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL, Subject::kOfDevice, true},
    {"PORT_ERR", IBV_EVENT_PORT_ERR, Subject::kOfPort},
    {"PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE, Subject::kOfPort},
    {"GID_CHANGE", IBV_EVENT_GID_CHANGE, Subject::kOfPort},
    {"LID_CHANGE", IBV_EVENT_LID_CHANGE, Subject::kOfPort},
    {"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE, Subject::kOfPort},
    {"SM_CHANGE", IBV_EVENT_SM_CHANGE, Subject::kOfPort},
    {"CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER, Subject::kOfPort},
    {"QP_FATAL", IBV_EVENT_QP_FATAL, Subject::kOfQp, true},
    {"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR, Subject::kOfQp, true},
    {"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR, Subject::kOfQp, true},
    {"COMM_EST", IBV_EVENT_COMM_EST, Subject::kOfQp},
    {"SQ_DRAINED", IBV_EVENT_SQ_DRAINED, Subject::kOfQp},
    {"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED, Subject::kOfQp},
    {"PATH_MIG", IBV_EVENT_PATH_MIG, Subject::kOfQp},
    {"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR, Subject::kOfQp},
    {"CQ_ERR", IBV_EVENT_CQ_ERR, Subject::kOfCq, true},
    {"SRQ_ERR", IBV_EVENT_SRQ_ERR, Subject::kOfSrq, true},
    {"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED, Subject::kOfSrq},
});

using nic::rdma_cm::EventType;

/// "Consumer defined": what a program's rdma_reject() says.
constexpr int kConsumerDefined = 28;

constexpr auto kCmEvents = std::to_array<CmEventRow>({
    {Verb::kCmResolveAddr, "ADDR_ERROR", EventType::kAddressError, -ETIMEDOUT},
    {Verb::kCmResolveRoute, "ROUTE_ERROR", EventType::kRouteError, -ETIMEDOUT},
    {Verb::kCmConnect, "CONNECT_ERROR", EventType::kConnectError, -EINVAL},
    {Verb::kCmConnect, "UNREACHABLE", EventType::kUnreachable, -ETIMEDOUT},
    {Verb::kCmConnect, "REJECTED", EventType::kRejected, kConsumerDefined},
    {Verb::kCmAccept, "CONNECT_ERROR", EventType::kConnectError, -EINVAL},
    {Verb::kCmAccept, "UNREACHABLE", EventType::kUnreachable, -ETIMEDOUT},
    {Verb::kCmAccept, "REJECTED", EventType::kRejected, kConsumerDefined},
});

std::string_view without(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

template <typename Rows>
auto find_row(const Rows& rows, std::string_view name) -> decltype(rows.data()) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found != rows.end() ? &*found : nullptr;
}

void append(std::string& list, std::string_view name) {
  if (!list.empty()) list += ", ";
  list += name;
}

}  // namespace

std::optional<int> errno_named(std::string_view name) {
  for (const ErrnoName& other : kOtherErrnoNames) {
    if (other.name == name) return other.value;
  }
  for (int value = 1; value < kEndOfErrnos; ++value) {
    const char* const known = strerrorname_np(value);
    if (known != nullptr && name == known) return value;
  }
  return std::nullopt;
}

std::string errnos_like(std::string_view name) {
  std::vector<std::string_view> names;
  for (int value = 1; value < kEndOfErrnos; ++value) {
    if (const char* const known = strerrorname_np(value)) names.emplace_back(known);
  }
  return names_like(name, names);
}

std::optional<ibv_wc_status> failure_named(std::string_view name) {
  const StatusName* const row = find_row(kFailures, without("IBV_WC_", name));
  return row != nullptr ? std::optional(row->status) : std::nullopt;
}

std::string failures_like(std::string_view name) {
  std::vector<std::string_view> names;
  for (const StatusName& row : kFailures) names.push_back(row.name);
  return names_like(without("IBV_WC_", name), names);
}

std::string_view name_of(ibv_wc_status status) {
  const auto* const row = std::find_if(kFailures.begin(), kFailures.end(),
                                       [&](const StatusName& each) { return each.status == status; });
  return row != kFailures.end() ? row->name : "SUCCESS";
}

std::optional<ibv_qp_state> state_named(std::string_view name) {
  const StateName* const row = find_row(kStates, without("IBV_QPS_", name));
  return row != nullptr ? std::optional(row->state) : std::nullopt;
}

const AsyncEventRow* find_async_event(std::string_view name) {
  return find_row(kAsyncEvents, without("IBV_EVENT_", name));
}

std::string async_event_names() {
  std::string names;
  for (const AsyncEventRow& row : kAsyncEvents) append(names, row.name);
  return names;
}

const CmEventRow* find_cm_event(Verb verb, std::string_view name) {
  const std::string_view wanted = without("RDMA_CM_EVENT_", name);
  const auto* const row = std::find_if(kCmEvents.begin(), kCmEvents.end(), [&](const CmEventRow& each) {
    return each.verb == verb && each.name == wanted;
  });
  return row != kCmEvents.end() ? row : nullptr;
}

std::string cm_event_names(Verb verb) {
  std::string names;
  for (const CmEventRow& row : kCmEvents) {
    if (row.verb == verb) append(names, row.name);
  }
  return names;
}

}  // namespace urnic::verbs_api
