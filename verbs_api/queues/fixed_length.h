// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Operations that move a fixed number of bytes: atomics and the atomic write.
#pragma once

#include <cstdint>
#include <span>

#include "nic/queues/posting.h"
#include "transport/work_request.h"

namespace urnic::verbs_api {

/// What an atomic operation, or an atomic write, moves.
inline constexpr std::uint32_t kAtomicBytes = 8;

/// Whether the elements are as long together as the operation demands, if it does.
inline bool is_right_length(const transport::SendRequest& request, std::span<const transport::Sge> sges) {
  const bool is_fixed =
      is_atomic(request.operation) || request.operation == transport::SendOperation::kAtomicWrite;
  return !is_fixed || nic::total_length(sges) == kAtomicBytes;
}

}  // namespace urnic::verbs_api
