// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Ah: an address handle as programs hold it.
#pragma once

#include "nic/path/path.h"
#include "transport/work_request.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

class Ah : public ibv_ah {
 public:
  explicit Ah(ibv_pd& domain) : ibv_ah{domain.context, &domain, 0} {}
  ~Ah() { end(); }
  Ah(const Ah&) = delete;
  Ah& operator=(const Ah&) = delete;

  static Ah& of(ibv_ah* ah) { return *static_cast<Ah*>(ah); }

  /// Makes the device's handle, once; an errno value when it cannot.
  int make(const nic::AddressVector& address);
  /// What a work request names it by.
  transport::AddressHandleId id() const { return id_; }
  /// Takes the device's handle away, if there is one.
  void end();

 private:
  transport::AddressHandleId id_{};
};

}  // namespace urnic::verbs_api
