// Counters of one device, under the names people know from hw_counters (fact 54).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace urnic::transport {

/// Everything the transport counts. The order is the order of kCounterNames.
enum class Counter : std::uint8_t {
  kSentPackets,
  kReceivedPackets,
  kSentBytes,
  kReceivedBytes,
  kOutOfSequence,
  kDuplicateRequest,
  kPacketSequenceError,
  kImpliedNakSequenceError,
  kLocalAckTimeout,
  kRetryExceeded,
  kRnrNakSent,
  kRnrNakReceived,
  kRnrNakRetryExceeded,
  kOutOfBuffer,
  kResumedInsideMessage,
  kRequestInvalid,
  kRequestAccessError,
  kRequestOperationError,
  kReceivedErrorNak,
  kUnexpectedAcknowledge,
  kUnexpectedResponse,
  kBadResponse,
  kWrongState,
  kOutsideMessage,    ///< packets that continue a message which was lost or refused, or never begun
  kAbandonedMessage,  ///< messages begun by a peer of which a packet was lost or the rest never came
  kReceiveTooSmall,
  kQkeyViolation,
  kSendsCompleted,
  kReceivesCompleted,
  kSendCompletionError,
  kReceiveCompletionError,
};

inline constexpr std::array kCounterNames = std::to_array<std::string_view>({
    "sent_pkts",
    "rcvd_pkts",
    "sent_bytes",
    "rcvd_bytes",
    "out_of_sequence",
    "duplicate_request",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "retry_exceeded_err",
    "send_rnr_err",
    "rcvd_rnr_err",
    "rnr_nak_retry_err",
    "out_of_buffer",
    "resumed_inside_message",
    "resp_invalid_request",
    "resp_remote_access_errors",
    "resp_remote_operation_errors",
    "req_error_naks",
    "unexpected_acks",
    "unexpected_responses",
    "req_bad_responses",
    "wrong_state_drops",
    "outside_message_drops",
    "abandoned_messages",
    "receive_too_small_drops",
    "qkey_violations",
    "rdma_sends",
    "rdma_recvs",
    "req_cqe_error",
    "resp_cqe_error",
});

/// A number that one thread at a time adds to (the engine lock's holder) and any thread may read.
class CounterCell {
 public:
  void add(std::uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Counters {
 public:
  void add(Counter counter, std::uint64_t n = 1) { cells_[static_cast<std::size_t>(counter)].add(n); }
  std::uint64_t value(Counter counter) const { return cells_[static_cast<std::size_t>(counter)].value(); }

 private:
  std::array<CounterCell, kCounterNames.size()> cells_;
};

}  // namespace urnic::transport
