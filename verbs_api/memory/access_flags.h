// Rights, in libibverbs' bits and in the transport's.
#pragma once

#include "transport/dma.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

inline constexpr unsigned int kAccessRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                              IBV_ACCESS_MW_BIND;

// The numbers are the same, which is why a cast does it.
static_assert(IBV_ACCESS_LOCAL_WRITE == to_integer(transport::Access::kLocalWrite));
static_assert(IBV_ACCESS_REMOTE_WRITE == to_integer(transport::Access::kRemoteWrite));
static_assert(IBV_ACCESS_REMOTE_READ == to_integer(transport::Access::kRemoteRead));
static_assert(IBV_ACCESS_REMOTE_ATOMIC == to_integer(transport::Access::kRemoteAtomic));
static_assert(IBV_ACCESS_MW_BIND == to_integer(transport::Access::kWindowBind));

/// The rights among `flags`; what else is in there is left out.
constexpr transport::Access to_access(unsigned int flags) {
  return static_cast<transport::Access>(flags & kAccessRights);
}
constexpr unsigned int to_access_flags(transport::Access access) {
  return to_integer(access);
}

}  // namespace urnic::verbs_api
