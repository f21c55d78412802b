// What a program says of a flow rule, translated.
#pragma once

#include "nic/flow_rule.h"
#include "transport/result.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

/// The rule that `attributes`, and the specifications behind it in memory, ask for. EOPNOTSUPP for what
/// libibverbs knows and we do not have, EINVAL for what nobody can do, with the reason.
///
/// libibverbs takes the number of specifications at its word, and programs give the size of the struct alone
/// (pyverbs) or none at all (perftest). A size that says more than that has to cover all specifications, and
/// nothing behind it is read. Otherwise no more are read than there are layers: link, network and transport,
/// each of which may be specified once.
Result<nic::FlowRule, Error> to_flow_rule(const ibv_flow_attr& attributes);

}  // namespace urnic::verbs_api
