// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ibv_query_gid_type, which programs use although no installed header declares it.
#pragma once

#include <cstdint>

#include "verbs_api/abi/libibverbs.h"

extern "C" {

/// As the kernel's sysfs tells them apart; an empty index counts as the first.
enum ibv_gid_type_sysfs { IBV_GID_TYPE_SYSFS_IB_ROCE_V1, IBV_GID_TYPE_SYSFS_ROCE_V2 };

[[gnu::visibility("default")]] int ibv_query_gid_type(ibv_context* context, uint8_t port_num,
                                                      unsigned int index, ibv_gid_type_sysfs* type);

}  // extern "C"
