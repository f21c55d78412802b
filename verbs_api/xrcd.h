// Xrcd: an XRC domain as programs hold it.
#pragma once

#include "nic/xrc_domain.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

struct Xrcd : ibv_xrcd {
  Xrcd(ibv_context& opened, nic::XrcDomain& shared) : ibv_xrcd{&opened}, inner(shared) {}
  static Xrcd& of(ibv_xrcd* xrcd) { return *static_cast<Xrcd*>(xrcd); }

  /// Gives up the domain; the context is closing and has ended what was made with this.
  void end();

  nic::XrcDomain& inner;
};

}  // namespace urnic::verbs_api
