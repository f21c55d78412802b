// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Qp: a queue pair as programs hold it, plain and extended in one.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/queues/queue_pair.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/newer_operations.h"
#include "verbs_api/device/qp_handles.h"
#include "verbs_api/queues/told_once.h"
#include "verbs_api/queues/work_request_builder.h"
#include "verbs_api/sanitizer/accounts/qp_account.h"
#include "verbs_api/sanitizer/ledgers/queues/qp_ledger.h"

namespace urnic::verbs_api {

struct Qp : QpExWithFlush {
  Qp(ibv_context& opened, const ibv_qp_init_attr_ex& init_attr);
  ~Qp();
  Qp(const Qp&) = delete;
  Qp& operator=(const Qp&) = delete;

  static Qp& of(ibv_qp* qp) { return *static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp)); }
  static Qp& of(ibv_qp_ex* qp) { return *static_cast<Qp*>(qp); }

  /// From now on it is a handle of that queue pair, which knows it already.
  void attach(std::shared_ptr<QpHandles> made);
  QpHandle handle() { return {.qp = &qp_base, .events_fetched = &events_fetched}; }
  /// Lets go of the device's queue pair, which ends with its last handle.
  void end();

  nic::QueuePair* inner = nullptr;
  std::shared_ptr<QpLedger> ledger;    ///< of the sanitizer; null unless it looks. Ends after `inner`
  std::shared_ptr<QpAccount> account;  ///< null unless failures are explained, and it does not. Likewise
  std::shared_ptr<QpHandles> handles;
  const ibv_xrcd* xrcd;                         ///< of an XRC target
  std::unique_ptr<WorkRequestBuilder> builder;  ///< null unless made with send operations flags
  std::uint32_t events_fetched = 0;             ///< under the lock of AsyncEvents
  ToldOnce told_of_sends;                       ///< why they were not posted
  ToldOnce told_of_receives;
};

}  // namespace urnic::verbs_api
