// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What programs and rdma_cm tell each other when they connect, in the kernel's structs.
#pragma once

#include <rdma/rdma_user_cm.h>

#include "nic/rdma_cm/types.h"
#include "transport/result.h"

namespace urnic::verbs_api {

/// EINVAL: more private data than any message carries.
Result<nic::rdma_cm::ConnectionParameters, int> to_parameters(const rdma_ucm_conn_param& from,
                                                              const rdma_ucm_ece& ece);

/// Of RDMA_USER_CM_CMD_GET_EVENT.
rdma_ucm_event_resp to_response(const nic::rdma_cm::Event& event);

}  // namespace urnic::verbs_api
