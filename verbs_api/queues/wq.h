// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Wq: a work queue of RSS as programs hold it.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/queues/queue_pair.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/queues/told_once.h"

namespace urnic::verbs_api {

struct Wq : ibv_wq {
  /// `inner` comes later, because it is told the address of this. The mutex and the condition are members of
  /// the header's struct, and the header makes them in ibv_create_wq().
  Wq(ibv_pd& domain, ibv_cq& completions);
  ~Wq();
  Wq(const Wq&) = delete;
  Wq& operator=(const Wq&) = delete;

  static Wq& of(ibv_wq* wq) { return *static_cast<Wq*>(wq); }

  /// Takes the device's queue away; the context is closing and has ended the indirection tables.
  void end();

  std::unique_ptr<nic::QueuePair> inner;
  std::uint32_t events_fetched = 0;  ///< under the lock of AsyncEvents
  ToldOnce told_of_receives;         ///< why they were not posted
};

}  // namespace urnic::verbs_api
