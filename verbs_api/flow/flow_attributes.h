// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program says of a flow rule, translated.
#pragma once

#include "nic/raw/flow_rule.h"
#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// What a program wishes of a flow rule.
struct FlowWish {
  nic::FlowRule rule{};              ///< `counts` is not set
  ibv_counters* counters = nullptr;  ///< where to count, in the program's words: it may point anywhere
};

/// The rule that `attributes`, and the specifications after them in memory, ask for. EOPNOTSUPP for what
/// libibverbs knows and we do not have, EINVAL for what no device can do, with the reason.
///
/// libibverbs trusts the number of specifications, and programs give the size of the struct alone (pyverbs)
/// or none at all (perftest). If the size is larger than the struct, it has to cover all specifications, and
/// nothing after it is read. Otherwise no more are read than there are layers: link, network and transport,
/// each of which may be specified once, as may counting: a rule of all layers that counts gives its whole
/// size.
Result<FlowWish, Error> to_flow_rule(const ibv_flow_attr& attributes);

}  // namespace urnic::verbs_api
