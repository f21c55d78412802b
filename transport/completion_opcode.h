// What a completed work request is called in its completion.
#pragma once

#include "transport/completion.h"
#include "transport/work_request.h"

namespace urnic::transport {

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

}  // namespace urnic::transport
