// What a completion queue entry says, and where the transport puts it.
#pragma once

#include <cstdint>

#include "transport/awaited_ack.h"
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

/// A completion queue entry. When `status` is not kSuccess only wr_id, status and qp_number mean something.
struct Completion {
  std::uint64_t wr_id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionOpcode opcode = CompletionOpcode::kSend;
  bool has_immediate = false;
  bool has_invalidate = false;
  bool has_grh = false;    ///< a datagram: the first 40 bytes received are the GRH area (fact 42)
  bool is_ipv4 = false;    ///< of a datagram: what stands in its GRH area is an IPv4 header
  bool solicited = false;  ///< a receive whose sender asked for a solicited event, or any failure
  std::uint32_t byte_length = 0;
  std::uint32_t immediate = 0;  ///< the four bytes as they were on the wire (network order in memory)
  Rkey invalidated_rkey{};
  QpNumber qp_number{};
  QpNumber source_qp{};
};

/// Takes completions in the order in which they happen. Implemented by the NIC's completion queue.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  virtual void complete(const Completion& completion) = 0;
  /// The same for a receive that the program is to see after `ack` has left. Sinks that no program polls need not
  /// wait.
  virtual void complete_after(const AwaitedAck& /*ack*/, const Completion& completion) {
    complete(completion);
  }
};

}  // namespace urnic::transport
