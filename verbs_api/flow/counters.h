// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters: where flow rules count, as programs hold it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "nic/raw/flow_rule.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

struct Counters : ibv_counters {
  explicit Counters(ibv_context& opened) : ibv_counters{.context = &opened} {}
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  static Counters& of(ibv_counters* counters) { return *static_cast<Counters*>(counters); }

  std::shared_ptr<nic::FlowCounts> counts = std::make_shared<nic::FlowCounts>();
  /// What the program wants to read at which index. Under the context's mutex.
  std::map<std::uint32_t, ibv_counter_description> places;
};

}  // namespace urnic::verbs_api
