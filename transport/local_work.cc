// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/local_work.h"

#include <cassert>

namespace urnic::transport {

CompletionStatus do_local_work(Dma& dma, const MemoryUser& user, const QueuedRequest& request) {
  assert(is_local(request.operation));
  if (request.operation == SendOperation::kBindWindow) {
    const DmaStatus status = dma.bind_window(user, request.binding());
    return status == DmaStatus::kOk ? CompletionStatus::kSuccess : CompletionStatus::kMemoryWindowBindError;
  }
  const DmaStatus status = dma.invalidate(user, request.invalidate_rkey());
  return status == DmaStatus::kOk ? CompletionStatus::kSuccess : CompletionStatus::kLocalQpOperationError;
}

}  // namespace urnic::transport
