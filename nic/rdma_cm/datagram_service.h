// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What rdma_cm's datagram services have in common.
#pragma once

#include <cstdint>

namespace urnic::nic::rdma_cm {

/// Of every queue pair for datagrams, and of multicast groups (CM.md 2).
inline constexpr std::uint32_t kDatagramQkey = 0x01234567;

}  // namespace urnic::nic::rdma_cm
