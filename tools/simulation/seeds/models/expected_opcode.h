// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a completed work request has to be called, typed apart from the transport's own table.
#pragma once

#include "transport/completion.h"
#include "transport/work_request.h"

namespace urnic::sim {

constexpr transport::CompletionOpcode expected_opcode(transport::SendOperation operation) {
  using transport::CompletionOpcode;
  using enum transport::SendOperation;
  switch (operation) {
    case kSend:
      return CompletionOpcode::kSend;
    case kSendWithImmediate:
      return CompletionOpcode::kSend;
    case kSendWithInvalidate:
      return CompletionOpcode::kSend;
    case kWrite:
      return CompletionOpcode::kRdmaWrite;
    case kWriteWithImmediate:
      return CompletionOpcode::kRdmaWrite;
    case kRead:
      return CompletionOpcode::kRdmaRead;
    case kCompareSwap:
      return CompletionOpcode::kCompareSwap;
    case kFetchAdd:
      return CompletionOpcode::kFetchAdd;
    case kFlush:
      return CompletionOpcode::kFlush;
    case kAtomicWrite:
      return CompletionOpcode::kAtomicWrite;
    case kLocalInvalidate:
      return CompletionOpcode::kLocalInvalidate;
    case kBindWindow:
      return CompletionOpcode::kBindWindow;
  }
  return {};
}

}  // namespace urnic::sim
