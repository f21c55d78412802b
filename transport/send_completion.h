// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What happens to a send work request when it is done: its completion, and what is counted.
#pragma once

#include "transport/completion.h"
#include "transport/dependencies.h"
#include "transport/dma.h"
#include "transport/qp_config.h"
#include "transport/send_queue.h"

namespace urnic::transport {

/// How a work request ended.
struct SendOutcome {
  CompletionStatus status = CompletionStatus::kSuccess;
  FailureDetail detail = FailureDetail::kNone;
};

/// For memory that could not be used as the work request says.
SendOutcome local_protection_error(DmaStatus status);

/// Reports the work request at `place` of the send queue, of any service. Failures are reported whether or
/// not the program wants a completion for success; flushed ones are a consequence, and are counted apart. The
/// work request stays in the queue.
void complete_send(std::uint32_t place, const SendOutcome& outcome, const QpConfig& config,
                   const QpDependencies& deps);

}  // namespace urnic::transport
