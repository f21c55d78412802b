// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Attributes of queue pairs: ibv_qp_attr with its mask, and the device's.
#pragma once

#include "nic/queues/queue_pair.h"
#include "transport/qp_state.h"
#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// The attributes that `mask` (IBV_QP_*) selects. EINVAL for values that mean nothing, EOPNOTSUPP for what is
/// not offered: alternate paths, resizing, rate limits. Whether they fit the type and the state is for the
/// device to say.
Result<nic::QpAttributes, Error> to_qp_attributes(const ibv_qp_attr& attributes, int mask);

/// `mask` without what half a connection has no use for: programs give XRC queue pairs all that a reliable
/// connection needs, and the kernel lets them.
int without_useless(nic::QpType type, int mask);

/// Everything, as ibv_query_qp reports it.
ibv_qp_attr to_ibv_attributes(const nic::QpAttributes& attributes, const nic::QpCapabilities& capabilities);

ibv_qp_cap to_ibv_cap(const nic::QpCapabilities& capabilities);
nic::QpCapabilities to_capabilities(const ibv_qp_cap& cap);

}  // namespace urnic::verbs_api
