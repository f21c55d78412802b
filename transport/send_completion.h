// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What happens to a send work request when it is done: its completion, and what is counted.
#pragma once

#include "transport/completion.h"
#include "transport/dependencies.h"
#include "transport/qp_config.h"
#include "transport/send_queue.h"

namespace urnic::transport {

/// Reports a work request of this queue pair, of any service. Failures are reported whether or not the
/// program wants a completion for success; flushed ones are a consequence and no error to count. The work
/// request stays in the queue.
void complete_send(const SendWqe& wqe, CompletionStatus status, const QpConfig& config,
                   const QpDependencies& deps);

}  // namespace urnic::transport
