// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a completion queue entry says, and where the transport puts it.
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/types.h"

namespace urnic::transport {

/// Why a work request ended; the names of libibverbs' ibv_wc_status.
enum class CompletionStatus : std::uint8_t {
  kSuccess,
  kLocalLengthError,
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
  kRnrRetryExceeded,
};

/// Without IBV_WC_; "" for what is no status.
constexpr std::string_view name_of(CompletionStatus status) {
  using enum CompletionStatus;
  switch (status) {
    case kSuccess:
      return "SUCCESS";
    case kLocalLengthError:
      return "LOC_LEN_ERR";
    case kLocalQpOperationError:
      return "LOC_QP_OP_ERR";
    case kLocalProtectionError:
      return "LOC_PROT_ERR";
    case kWorkRequestFlushed:
      return "WR_FLUSH_ERR";
    case kMemoryWindowBindError:
      return "MW_BIND_ERR";
    case kBadResponse:
      return "BAD_RESP_ERR";
    case kLocalAccessError:
      return "LOC_ACCESS_ERR";
    case kRemoteInvalidRequest:
      return "REM_INV_REQ_ERR";
    case kRemoteAccessError:
      return "REM_ACCESS_ERR";
    case kRemoteOperationError:
      return "REM_OP_ERR";
    case kRetryExceeded:
      return "RETRY_EXC_ERR";
    case kRnrRetryExceeded:
      return "RNR_RETRY_EXC_ERR";
  }
  return "";
}

enum class CompletionOpcode : std::uint8_t {
  kSend,
  kRdmaWrite,
  kRdmaRead,
  kCompareSwap,
  kFetchAdd,
  kFlush,
  kAtomicWrite,
  kLocalInvalidate,
  kBindWindow,
  kReceive,
  kReceiveRdmaWithImmediate,
};

constexpr bool is_receive(CompletionOpcode opcode) {
  return opcode == CompletionOpcode::kReceive || opcode == CompletionOpcode::kReceiveRdmaWithImmediate;
}

/// "" for what is no opcode.
constexpr std::string_view name_of(CompletionOpcode opcode) {
  using enum CompletionOpcode;
  switch (opcode) {
    case kSend:
      return "SEND";
    case kRdmaWrite:
      return "WRITE";
    case kRdmaRead:
      return "READ";
    case kCompareSwap:
      return "CMP_SWAP";
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
    case kReceive:
      return "RECV";
    case kReceiveRdmaWithImmediate:
      return "RECV_WRITE_IMM";
  }
  return "";
}

/// More about a send that has failed, for NICs that tell it.
enum class FailureDetail : std::uint8_t {
  kNone,
  kUnknownKey,    ///< kLocalProtectionError: no region of the protection domain has the key
  kOutOfBounds,   ///< kLocalProtectionError: the bytes are not all in the region
  kNoRight,       ///< kLocalProtectionError: the region may not be used so
  kFirstFlushed,  ///< kWorkRequestFlushed: the oldest, and the program itself has put the queue pair in ERR
};

/// A completion queue entry. When `status` is not kSuccess only wr_id, status and qp_number mean something.
struct Completion {
  std::uint64_t wr_id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionOpcode opcode = CompletionOpcode::kSend;
  bool has_immediate = false;  ///< of a send: QpConfig::marks_sent_immediate
  bool has_invalidate = false;
  bool has_grh = false;  ///< a datagram: the first 40 bytes received are the GRH area (fact 42)
  bool is_ipv4 = false;  ///< of a datagram: what stands in its GRH area is an IPv4 header
  FailureDetail detail = FailureDetail::kNone;
  bool solicited = false;  ///< a receive whose sender asked for a solicited event, or any failure
  std::uint32_t byte_length = 0;
  std::uint32_t immediate = 0;  ///< the four bytes as they were on the wire (network order in memory)
  Rkey invalidated_rkey{};
  QpNumber qp_number{};
  QpNumber source_qp{};
  /// Of a send its position in the send queue, of a receive the number of the shared queue that it was posted
  /// to, or 0.
  std::uint32_t origin = 0;
};
static_assert(sizeof(Completion) == 40, "each completion is copied twice");

/// Takes completions in the order in which they happen. Implemented by the NIC's completion queue.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  virtual void complete(const Completion& completion) = 0;
};

}  // namespace urnic::transport
