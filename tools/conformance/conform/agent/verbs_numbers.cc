// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/agent/verbs_numbers.h"

#include <arpa/inet.h>

namespace urnic::conform {
namespace {

using transport::CompletionOpcode;
using transport::CompletionStatus;
using transport::SendOperation;

/// enum ibv_wc_status; 3 is of end-to-end contexts, which no RoCE has.
std::optional<CompletionStatus> status_of(std::uint64_t number) {
  using enum CompletionStatus;
  constexpr CompletionStatus kOfNumber[] = {kSuccess,
                                            kLocalLengthError,
                                            kLocalQpOperationError,
                                            kLocalQpOperationError,
                                            kLocalProtectionError,
                                            kWorkRequestFlushed,
                                            kMemoryWindowBindError,
                                            kBadResponse,
                                            kLocalAccessError,
                                            kRemoteInvalidRequest,
                                            kRemoteAccessError,
                                            kRemoteOperationError,
                                            kRetryExceeded,
                                            kRnrRetryExceeded};
  if (number >= std::size(kOfNumber)) return std::nullopt;
  return kOfNumber[number];
}

/// enum ibv_wc_opcode.
std::optional<CompletionOpcode> opcode_of(std::uint64_t number) {
  using enum CompletionOpcode;
  switch (number) {
    case 0:
      return kSend;
    case 1:
      return kRdmaWrite;
    case 2:
      return kRdmaRead;
    case 3:
      return kCompareSwap;
    case 4:
      return kFetchAdd;
    case 5:
      return kBindWindow;
    case 6:
      return kLocalInvalidate;
    case 128:
      return kReceive;
    case 129:
      return kReceiveRdmaWithImmediate;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<transport::Completion> read_completion(const AgentReply& reply) {
  const auto id = reply.number("id");
  const auto status = reply.number("status");
  const auto known = status ? status_of(*status) : std::nullopt;
  if (!id || !known) return std::nullopt;
  transport::Completion completion{.wr_id = *id, .status = *known};
  if (*known != CompletionStatus::kSuccess) return completion;
  const auto opcode = opcode_of(reply.number("opcode").value_or(~0u));
  if (!opcode) return std::nullopt;
  completion.opcode = *opcode;
  completion.byte_length = static_cast<std::uint32_t>(reply.number("length").value_or(0));
  if (const auto immediate = reply.number("imm")) {
    completion.has_immediate = true;
    completion.immediate = htonl(static_cast<std::uint32_t>(*immediate));
  }
  if (const auto key = reply.number("inv")) {
    completion.has_invalidate = true;
    completion.invalidated_rkey = transport::Rkey{static_cast<std::uint32_t>(*key)};
  }
  completion.has_grh = reply.number("grh") == 1u;
  completion.source_qp = transport::QpNumber{static_cast<std::uint32_t>(reply.number("src").value_or(0))};
  return completion;
}

std::string_view event_name(std::uint64_t number) {
  switch (number) {  // enum ibv_event_type
    case 1:
      return "QP_FATAL";
    case 2:
      return "QP_REQ_ERR";
    case 3:
      return "QP_ACCESS_ERR";
    case 4:
      return "COMM_EST";
    case 5:
      return "SQ_DRAINED";
    case 15:
      return "SRQ_LIMIT_REACHED";
    case 16:
      return "LAST_WQE_REACHED";
    default:
      return "";
  }
}

std::string_view operation_name(SendOperation operation) {
  switch (operation) {
    case SendOperation::kSend:
      return "send";
    case SendOperation::kSendWithImmediate:
      return "send-imm";
    case SendOperation::kSendWithInvalidate:
      return "send-inv";
    case SendOperation::kWrite:
      return "write";
    case SendOperation::kWriteWithImmediate:
      return "write-imm";
    case SendOperation::kRead:
      return "read";
    case SendOperation::kCompareSwap:
      return "cas";
    case SendOperation::kFetchAdd:
      return "add";
    case SendOperation::kLocalInvalidate:
      return "local-inv";
    case SendOperation::kFlush:
    case SendOperation::kAtomicWrite:
    case SendOperation::kBindWindow:
      return "";
  }
  return "";
}

unsigned send_flags(const transport::SendRequest& request, bool is_inline) {
  return (request.fence ? 1u : 0u) | (request.signaled ? 2u : 0u) | (request.solicited ? 4u : 0u) |
         (is_inline ? 8u : 0u);
}

}  // namespace urnic::conform
