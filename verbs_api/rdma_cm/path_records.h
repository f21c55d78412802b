// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Path records, as the kernel's interface gives them to programs.
#pragma once

#include <rdma/ib_user_sa.h>

#include "nic/rdma_cm/types.h"

namespace urnic::verbs_api {

/// Of RDMA_USER_CM_CMD_QUERY_ROUTE.
ib_user_path_rec to_user_path(const nic::rdma_cm::PathRecord& path);
/// Of RDMA_USER_CM_QUERY_PATH: a PathRecord as a subnet's administration writes it.
ib_path_rec_data to_path_data(const nic::rdma_cm::PathRecord& path);

}  // namespace urnic::verbs_api
