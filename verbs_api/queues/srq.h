// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Srq: a shared receive queue as programs hold it.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/queues/shared_receive_queue.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/queues/told_once.h"
#include "verbs_api/sanitizer/ledgers/queues/srq_ledger.h"

namespace urnic::verbs_api {

struct Srq : ibv_srq {
  /// `inner` comes later, because it is told the address of this.
  Srq(ibv_pd& domain, void* program_context);
  ~Srq();
  Srq(const Srq&) = delete;
  Srq& operator=(const Srq&) = delete;

  static Srq& of(ibv_srq* srq) { return *static_cast<Srq*>(srq); }

  /// For the sanitizer: the device's queue is about to go.
  void stop_watching();
  /// Takes the device's queue away; the context is closing and has ended the queue pairs.
  void end();

  std::shared_ptr<SrqLedger> ledger;  ///< of the sanitizer; null unless it looks. Ends after `inner`
  std::unique_ptr<nic::SharedReceiveQueue> inner;
  const ibv_xrcd* xrcd = nullptr;    ///< of one for XRC
  std::uint32_t events_fetched = 0;  ///< under the lock of AsyncEvents
  ToldOnce told_of_receives;         ///< why they were not posted
};

}  // namespace urnic::verbs_api
