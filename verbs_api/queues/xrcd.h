// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Xrcd: an XRC domain as programs hold it.
#pragma once

#include "nic/queues/xrc_domain.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

struct Xrcd : ibv_xrcd {
  explicit Xrcd(ibv_context& opened) : ibv_xrcd{&opened} {}
  ~Xrcd();
  Xrcd(const Xrcd&) = delete;
  Xrcd& operator=(const Xrcd&) = delete;

  static Xrcd& of(ibv_xrcd* xrcd) { return *static_cast<Xrcd*>(xrcd); }

  /// Gives up the domain; the context is closing and has ended what was made with this.
  void end();

  nic::XrcDomain* inner = nullptr;
};

}  // namespace urnic::verbs_api
