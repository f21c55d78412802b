// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rights, in libibverbs' bits and in the transport's.
#pragma once

#include "transport/dma.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/newer_operations.h"

namespace urnic::verbs_api {

inline constexpr unsigned int kAccessRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                              IBV_ACCESS_MW_BIND;
inline constexpr unsigned int kFlushRights = kAccessFlushGlobal | kAccessFlushPersistent;

// The numbers are the same, so a cast does it. The numbers of FLUSH are the same after a shift.
inline constexpr int kFlushShift = 3;
static_assert(IBV_ACCESS_LOCAL_WRITE == to_integer(transport::Access::kLocalWrite));
static_assert(IBV_ACCESS_REMOTE_WRITE == to_integer(transport::Access::kRemoteWrite));
static_assert(IBV_ACCESS_REMOTE_READ == to_integer(transport::Access::kRemoteRead));
static_assert(IBV_ACCESS_REMOTE_ATOMIC == to_integer(transport::Access::kRemoteAtomic));
static_assert(IBV_ACCESS_MW_BIND == to_integer(transport::Access::kWindowBind));
static_assert(kAccessFlushGlobal >> kFlushShift == to_integer(transport::Access::kFlushGlobal));
static_assert(kAccessFlushPersistent >> kFlushShift == to_integer(transport::Access::kFlushPersistent));

/// The rights among `flags`; what else is in there is left out.
constexpr transport::Access to_access(unsigned int flags) {
  return static_cast<transport::Access>((flags & kAccessRights) | ((flags & kFlushRights) >> kFlushShift));
}
constexpr unsigned int to_access_flags(transport::Access access) {
  const unsigned int rights = to_integer(access);
  return (rights & kAccessRights) | ((rights << kFlushShift) & kFlushRights);
}

}  // namespace urnic::verbs_api
