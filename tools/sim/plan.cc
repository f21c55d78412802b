#include "tools/sim/plan.h"

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
    case Violation::kUnknownSrq:        // no fact says so; what is asked for is not there
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
  static constexpr std::array<std::string_view, kViolations> kNames = {"unknown rkey",
                                                                       "stale rkey",
                                                                       "beyond the end",
                                                                       "before the start",
                                                                       "no right in the region",
                                                                       "wrong PD",
                                                                       "no right in the queue pair",
                                                                       "receive too small",
                                                                       "receive with unknown lkey",
                                                                       "unknown local lkey",
                                                                       "not aligned",
                                                                       "outside the window",
                                                                       "invalidates what cannot be",
                                                                       "LOCAL_INV of what cannot be",
                                                                       "window on a region that allows none",
                                                                       "unknown XRC SRQ"};
  return kNames[static_cast<std::size_t>(violation)];
}

std::string_view to_string(transport::SendOperation operation) {
  static constexpr std::array<std::string_view, kPlannedOperations> kNames = {
      "SEND",         "SEND_IMM",  "SEND_INV", "WRITE",        "WRITE_IMM", "READ",
      "COMPARE_SWAP", "FETCH_ADD", "FLUSH",    "ATOMIC_WRITE", "LOCAL_INV", "BIND_MW"};
  return kNames[static_cast<std::size_t>(operation)];
}

}  // namespace urnic::sim
