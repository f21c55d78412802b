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

void count_failure(CompletionStatus status, Counters& counters) {
  if (status == CompletionStatus::kWorkRequestFlushed) return counters.add(Counter::kSendsFlushed);
  counters.add(Counter::kSendCompletionError);
  if (status == CompletionStatus::kRemoteAccessError) counters.add(Counter::kRemoteAccessError);
  if (status == CompletionStatus::kRemoteInvalidRequest) counters.add(Counter::kRemoteInvalidRequest);
}

}  // namespace

SendOutcome local_protection_error(DmaStatus status) {
  SendOutcome outcome{.status = CompletionStatus::kLocalProtectionError};
  switch (status) {
    case DmaStatus::kInvalidKey:
    case DmaStatus::kWrongPd:
      outcome.detail = FailureDetail::kUnknownKey;
      break;
    case DmaStatus::kOutOfBounds:
      outcome.detail = FailureDetail::kOutOfBounds;
      break;
    case DmaStatus::kNoAccess:
      outcome.detail = FailureDetail::kNoRight;
      break;
    case DmaStatus::kOk:
    case DmaStatus::kNotPresent:
      break;
  }
  return outcome;
}

void complete_send(std::uint32_t place, const SendOutcome& outcome, const QpConfig& config,
                   const QpDependencies& deps) {
  const SendWqe& wqe = deps.send_queue.at(place);
  const CompletionStatus status = outcome.status;
  const bool is_success = status == CompletionStatus::kSuccess;
  if (is_success && is_send(wqe.request.operation)) deps.counters.add(Counter::kSendsCompleted);
  if (is_success && !wqe.request.signaled) return;
  if (!is_success) count_failure(status, deps.counters);
  deps.send_completions->complete(
      {.wr_id = wqe.request.wr_id,
       .status = status,
       .opcode = completion_opcode(wqe.request.operation),
       .has_immediate = config.marks_sent_immediate && has_immediate(wqe.request.operation),
       .detail = outcome.detail,
       .solicited = !is_success,
       .byte_length = wqe.length,
       .qp_number = config.local_qp,
       .source_qp = config.remote_qp,
       .origin = place});
}

}  // namespace urnic::transport
