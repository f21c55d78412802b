// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pd: a protection domain as programs hold it, plain or parent.
#pragma once

#include <memory>

#include "nic/memory/protection_domain.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/memory/parent_domain.h"

namespace urnic::verbs_api {

struct Pd : ibv_pd {
  Pd(ibv_context& opened, std::shared_ptr<nic::ProtectionDomain> made);
  static Pd& of(ibv_pd* pd) { return *static_cast<Pd*>(pd); }

  /// Shared with the handles by which others have imported it.
  std::shared_ptr<nic::ProtectionDomain> inner;

  // Of a parent domain (parent_domain.cc):
  std::shared_ptr<nic::ProtectionDomain> parent;  ///< with which it shares memory regions; null: this is none
  Td* td = nullptr;
  std::unique_ptr<ProgramMemory> memory;  ///< null: its queues are on the heap
};

/// Whether what is in the one may be used with what is in the other. Null is in no domain.
inline bool is_same_domain(ibv_pd* one, ibv_pd* other) {
  return one == other ||
         (one != nullptr && other != nullptr && Pd::of(one).inner->id == Pd::of(other).inner->id);
}

}  // namespace urnic::verbs_api
