// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Flow: a flow rule as programs hold it.
#pragma once

#include "nic/raw/flow_rule.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

struct Flow : ibv_flow {
  explicit Flow(ibv_context& opened);
  ~Flow();
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  static Flow& of(ibv_flow* flow) { return *static_cast<Flow*>(flow); }

  /// Takes the device's rule away; the context is closing.
  void end();

  nic::FlowId id{};  ///< 0: none
};

}  // namespace urnic::verbs_api
