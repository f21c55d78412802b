// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What receive side scaling (RSS) can hash.
#pragma once

#include <cstdint>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// The fields that a hash can be over (IBV_RX_HASH_*).
inline constexpr std::uint64_t kOfferedHashFields =
    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
    IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

}  // namespace urnic::verbs_api
