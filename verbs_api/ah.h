// Ah: an address handle as programs hold it.
#pragma once

#include "nic/path.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

struct Ah : ibv_ah {
  Ah(ibv_pd& domain, const nic::AddressVector& vector)
      : ibv_ah{domain.context, &domain, 0}, address(vector) {}
  static Ah& of(ibv_ah* ah) { return *static_cast<Ah*>(ah); }

  nic::AddressVector address;
};

}  // namespace urnic::verbs_api
