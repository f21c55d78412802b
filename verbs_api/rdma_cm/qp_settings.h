// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What rdma_init_qp_attr answers.
#pragma once

#include <rdma/ib_user_verbs.h>

#include <cstdint>
#include <optional>

#include "nic/rdma_cm/types.h"
#include "transport/qp_state.h"
#include "transport/result.h"

namespace urnic::verbs_api {

/// `state` is an ibv_qp_state; nothing when it is none.
std::optional<transport::QpState> to_qp_state(std::uint32_t state);

/// What a queue pair is to be given to get into that state, with the mask that says which fields count.
/// EINVAL: the connection manager knows nothing of that state.
Result<ib_uverbs_qp_attr, int> to_kernel_attributes(const nic::rdma_cm::QpSettings& settings);

}  // namespace urnic::verbs_api
