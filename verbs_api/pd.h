// Pd: a protection domain as programs hold it.
#pragma once

#include <memory>

#include "nic/protection_domain.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

struct Pd : ibv_pd {
  Pd(ibv_context& opened, std::unique_ptr<nic::ProtectionDomain> made);
  static Pd& of(ibv_pd* pd) { return *static_cast<Pd*>(pd); }

  std::unique_ptr<nic::ProtectionDomain> inner;
};

}  // namespace urnic::verbs_api
