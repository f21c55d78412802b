// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Verb: a call of libibverbs or librdmacm that can be made to fail.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace urnic::verbs_api {

/// One for each call as programs know it. Where a library reaches one verb by several functions
/// (ibv_create_qp and ibv_create_qp_ex), the program's header decides which of them a call becomes: they are
/// one Verb.
enum class Verb : std::uint8_t {
  kGetDeviceList,
  kOpenDevice,
  kCloseDevice,
  kImportDevice,
  kQueryDevice,
  kQueryPort,
  kQueryGid,
  kQueryGidEx,
  kQueryGidTable,
  kQueryPkey,
  kQueryRtValues,
  kGetAsyncEvent,

  kAllocPd,
  kDeallocPd,
  kAllocTd,
  kDeallocTd,
  kAllocParentDomain,
  kRegMr,
  kRegDmabufMr,
  kReregMr,
  kDeregMr,
  kAllocNullMr,
  kAdviseMr,
  kAllocDm,
  kFreeDm,
  kRegDmMr,
  kAllocMw,
  kDeallocMw,
  kBindMw,

  kCreateCompChannel,
  kDestroyCompChannel,
  kGetCqEvent,
  kCreateCq,
  kModifyCq,
  kResizeCq,
  kDestroyCq,
  kReqNotifyCq,
  kPollCq,
  kStartPoll,
  kNextPoll,

  kCreateQp,
  kOpenQp,
  kModifyQp,
  kQueryQp,
  kDestroyQp,
  kPostSend,
  kPostRecv,
  kWrComplete,
  kSetEce,
  kQueryEce,
  kCreateAh,
  kCreateAhFromWc,
  kDestroyAh,
  kAttachMcast,
  kDetachMcast,

  kCreateSrq,
  kModifySrq,
  kQuerySrq,
  kDestroySrq,
  kPostSrqRecv,
  kGetSrqNum,
  kOpenXrcd,
  kCloseXrcd,

  kCreateWq,
  kModifyWq,
  kDestroyWq,
  kCreateRwqIndTable,
  kDestroyRwqIndTable,
  kCreateFlow,
  kDestroyFlow,
  kCreateCounters,
  kDestroyCounters,
  kAttachCounters,
  kReadCounters,

  kCmCreateEventChannel,
  kCmCreateId,
  kCmDestroyId,
  kCmMigrateId,
  kCmSetOption,
  kCmBindAddr,
  kCmResolveAddr,
  kCmResolveRoute,
  kCmListen,
  kCmConnect,
  kCmAccept,
  kCmEstablish,
  kCmReject,
  kCmDisconnect,
  kCmNotify,
  kCmJoinMulticast,
  kCmLeaveMulticast,
  kCmGetEvent,
};

inline constexpr std::size_t kVerbCount = static_cast<std::size_t>(Verb::kCmGetEvent) + 1;

struct VerbRow {
  Verb verb;
  std::string_view name;  ///< as in messages
  /// Names of the same verb, with spaces between.
  std::string_view other_names = {};
  /// Whether it still works on a device that had a fatal error: what looks at events and completions, and
  /// what gives resources back.
  bool works_on_dead_device = false;
};

/// All verbs, in the order of the enum.
std::span<const VerbRow> verbs();
inline const VerbRow& row_of(Verb verb) {
  return verbs()[static_cast<std::size_t>(verb)];
}

/// Null: there is none of that name.
const VerbRow* find_verb(std::string_view name);
/// Names like `name`, with commas between; empty if none is.
std::string verbs_like(std::string_view name);

/// Whether it is librdmacm's, and not libibverbs'.
inline bool is_of_rdma_cm(Verb verb) {
  return verb >= Verb::kCmCreateEventChannel;
}

}  // namespace urnic::verbs_api
