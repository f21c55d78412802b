// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FLUSH, and what is said of ATOMIC WRITE, as libibverbs has them. The header that we are built with need not
// have them, and may have them: so they have names of our own here, and the numbers and the place that
// infiniband/verbs.h of rdma-core 56 (Debian 13's) gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

inline constexpr unsigned int kAccessFlushGlobal = 1 << 8;        ///< IBV_ACCESS_FLUSH_GLOBAL
inline constexpr unsigned int kAccessFlushPersistent = 1 << 9;    ///< IBV_ACCESS_FLUSH_PERSISTENT
inline constexpr std::uint64_t kQpExWithFlush = 1 << 11;          ///< IBV_QP_EX_WITH_FLUSH
inline constexpr int kWcFlush = 8;                                ///< IBV_WC_FLUSH
inline constexpr int kWrFlush = 14;                               ///< IBV_WR_FLUSH
inline constexpr std::uint64_t kDeviceFlushGlobal = 1ull << 38;   ///< IB_UVERBS_DEVICE_FLUSH_GLOBAL
inline constexpr std::uint64_t kDeviceAtomicWrite = 1ull << 40;   ///< IB_UVERBS_DEVICE_ATOMIC_WRITE
inline constexpr std::uint32_t kOdpSupportsFlush = 1 << 6;        ///< IBV_ODP_SUPPORT_FLUSH
inline constexpr std::uint32_t kOdpSupportsAtomicWrite = 1 << 7;  ///< IBV_ODP_SUPPORT_ATOMIC_WRITE

/// `type` and `level` of wr_flush().
enum FlushType : std::uint8_t { kFlushTypeGlobal = 1 << 0, kFlushTypePersistent = 1 << 1 };
enum FlushLevel : std::uint8_t { kFlushLevelRange = 0, kFlushLevelRegion = 1 };

using FlushBuilder = void(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::size_t length,
                          std::uint8_t type, std::uint8_t level);

template <typename Qp>
concept HasFlush = requires(Qp& qp) {
  qp.wr_flush;
};

struct QpExBeforeFlush : ibv_qp_ex {
  FlushBuilder* wr_flush;
};

/// An ibv_qp_ex whose last member is wr_flush().
using QpExWithFlush = std::conditional_t<HasFlush<ibv_qp_ex>, ibv_qp_ex, QpExBeforeFlush>;

}  // namespace urnic::verbs_api
