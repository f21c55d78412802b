// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/send_completion.h"

namespace urnic::transport {
namespace {

constexpr CompletionOpcode completion_opcode(SendOperation operation) {
  switch (operation) {
    case SendOperation::kSend:
    case SendOperation::kSendWithImmediate:
    case SendOperation::kSendWithInvalidate:
      return CompletionOpcode::kSend;
    case SendOperation::kWrite:
    case SendOperation::kWriteWithImmediate:
      return CompletionOpcode::kRdmaWrite;
    case SendOperation::kRead:
      return CompletionOpcode::kRdmaRead;
    case SendOperation::kCompareSwap:
      return CompletionOpcode::kCompareSwap;
    case SendOperation::kFetchAdd:
      return CompletionOpcode::kFetchAdd;
    case SendOperation::kFlush:
      return CompletionOpcode::kFlush;
    case SendOperation::kAtomicWrite:
      return CompletionOpcode::kAtomicWrite;
    case SendOperation::kLocalInvalidate:
      return CompletionOpcode::kLocalInvalidate;
    case SendOperation::kBindWindow:
      return CompletionOpcode::kBindWindow;
  }
  return CompletionOpcode::kSend;
}

}  // namespace

void complete_send(const SendWqe& wqe, CompletionStatus status, const QpConfig& config,
                   const QpDependencies& deps) {
  const bool is_success = status == CompletionStatus::kSuccess;
  if (is_success && is_send(wqe.request.operation)) deps.counters.add(Counter::kSendsCompleted);
  if (is_success && !wqe.request.signaled) return;
  if (!is_success && status != CompletionStatus::kWorkRequestFlushed) {
    deps.counters.add(Counter::kSendCompletionError);
  }
  deps.send_completions->complete({.wr_id = wqe.request.wr_id,
                                   .status = status,
                                   .opcode = completion_opcode(wqe.request.operation),
                                   .solicited = !is_success,
                                   .byte_length = wqe.length,
                                   .qp_number = config.local_qp,
                                   .source_qp = config.remote_qp});
}

}  // namespace urnic::transport
