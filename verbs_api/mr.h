// Mr: a memory region as programs hold it.
#pragma once

#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

struct Mr : ibv_mr {
  explicit Mr(ibv_pd& domain) : ibv_mr{} {
    context = domain.context;
    pd = &domain;
  }
  ~Mr();
  Mr(const Mr&) = delete;
  Mr& operator=(const Mr&) = delete;

  static Mr& of(ibv_mr* mr) { return *static_cast<Mr*>(mr); }

  /// Deregisters; the context is closing.
  void end();

  bool is_registered = false;
};

}  // namespace urnic::verbs_api
