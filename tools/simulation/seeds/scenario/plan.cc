// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/plan.h"

namespace urnic::sim {

using transport::CompletionStatus;

CompletionStatus status_of(Violation violation) {
  switch (violation) {
    case Violation::kUnknownRkey:
    case Violation::kStaleRkey:
    case Violation::kBeyondEnd:
    case Violation::kBeforeStart:
    case Violation::kNoRemoteRight:
    case Violation::kWrongPd:
    case Violation::kOutsideWindow:
      return CompletionStatus::kRemoteAccessError;
    case Violation::kNoQueuePairRight:  // fact 30
    case Violation::kMisaligned:        // fact 32
    case Violation::kReceiveTooSmall:   // fact 33 and the decision below the facts
    case Violation::kUnknownSrq:        // no fact says so; what the request names is not there
      return CompletionStatus::kRemoteInvalidRequest;
    case Violation::kReceiveWithoutKey:
      return CompletionStatus::kRemoteOperationError;
    case Violation::kUnknownLkey:
      return CompletionStatus::kLocalProtectionError;
    case Violation::kBadLocalKey:
      return CompletionStatus::kLocalQpOperationError;
    case Violation::kBadBinding:
      return CompletionStatus::kMemoryWindowBindError;
    case Violation::kBadInvalidation:  // class J: the responder fails and says nothing
      return CompletionStatus::kRetryExceeded;
  }
  return CompletionStatus::kSuccess;
}

std::optional<CompletionStatus> receive_status_of(Violation violation) {
  switch (violation) {
    case Violation::kReceiveTooSmall:
      return CompletionStatus::kLocalLengthError;
    case Violation::kReceiveWithoutKey:
      return CompletionStatus::kLocalProtectionError;
    case Violation::kBadInvalidation:
      return CompletionStatus::kRemoteInvalidRequest;
    default:
      return std::nullopt;
  }
}

std::string_view to_string(Violation violation) {
  using enum Violation;
  switch (violation) {
    case kUnknownRkey:
      return "unknown rkey";
    case kStaleRkey:
      return "stale rkey";
    case kBeyondEnd:
      return "beyond the end";
    case kBeforeStart:
      return "before the start";
    case kNoRemoteRight:
      return "no right in the region";
    case kWrongPd:
      return "wrong PD";
    case kNoQueuePairRight:
      return "no right in the queue pair";
    case kReceiveTooSmall:
      return "receive too small";
    case kReceiveWithoutKey:
      return "receive with unknown lkey";
    case kUnknownLkey:
      return "unknown local lkey";
    case kMisaligned:
      return "not aligned";
    case kOutsideWindow:
      return "outside the window";
    case kBadInvalidation:
      return "invalidates what cannot be";
    case kBadLocalKey:
      return "LOCAL_INV of what cannot be";
    case kBadBinding:
      return "window on a region that allows none";
    case kUnknownSrq:
      return "unknown XRC SRQ";
  }
  return "";
}

std::string_view to_string(transport::SendOperation operation) {
  using enum transport::SendOperation;
  switch (operation) {
    case kSend:
      return "SEND";
    case kSendWithImmediate:
      return "SEND_IMM";
    case kSendWithInvalidate:
      return "SEND_INV";
    case kWrite:
      return "WRITE";
    case kWriteWithImmediate:
      return "WRITE_IMM";
    case kRead:
      return "READ";
    case kCompareSwap:
      return "COMPARE_SWAP";
    case kFetchAdd:
      return "FETCH_ADD";
    case kFlush:
      return "FLUSH";
    case kAtomicWrite:
      return "ATOMIC_WRITE";
    case kLocalInvalidate:
      return "LOCAL_INV";
    case kBindWindow:
      return "BIND_MW";
  }
  return "";
}

}  // namespace urnic::sim
