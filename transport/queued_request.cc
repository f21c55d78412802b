// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/queued_request.h"

namespace urnic::transport {

SendRequest QueuedRequest::as_posted() const {
  SendRequest request{.wr_id = wr_id,
                      .operation = operation,
                      .signaled = signaled,
                      .solicited = solicited,
                      .fence = fence,
                      .remote_address = remote_address,
                      .rkey = rkey,
                      .xrc_srq = xrc_srq};
  switch (operation) {
    case SendOperation::kCompareSwap:
    case SendOperation::kFetchAdd:
      request.compare = compare();
      request.swap_or_add = swap_or_add();
      break;
    case SendOperation::kFlush:
      request.flush = flush();
      break;
    case SendOperation::kBindWindow:
      request.binding = binding();
      request.remote_address = 0;
      request.rkey = {};
      break;
    case SendOperation::kSendWithInvalidate:
    case SendOperation::kLocalInvalidate:
      request.invalidate_rkey = invalidate_rkey();
      break;
    default:
      request.immediate = immediate();
      request.destination = destination();
  }
  return request;
}

}  // namespace urnic::transport
