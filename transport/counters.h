// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters of one device, under the names people know from hw_counters (fact 54).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "transport/enum_names.h"

namespace urnic::transport {

/// Everything the transport counts.
enum class Counter : std::uint8_t {
  kSentPackets,
  kReceivedPackets,
  kSentBytes,
  kReceivedBytes,
  kSentIpv6Packets,  ///< of all that were sent; RoCE v1 counts here, too
  kReceivedIpv6Packets,
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
  kSendsFlushed,
  kReceivesFlushed,
  kRemoteAccessError,  ///< sends that ended with it
  kRemoteInvalidRequest,
  kReceiveLengthError,  ///< receives that ended with LOC_LEN_ERR
  kEarlyRepetition,     ///< timeouts before the regular ones, where a personality has them
  kTimeoutRepetition,   ///< timeouts, early or regular, after which something was sent again
  // Messages that begin, each once: a peer's when it comes in order, refused or not; our own when it first
  // leaves.
  kReceivedSendRequests,
  kReceivedWriteRequests,
  kReceivedReadRequests,
  kReceivedAtomicRequests,
  kSentSendRequests,
  kSentWriteRequests,
  kSentReadRequests,
  kSentAtomicRequests,
};

/// "" for what is no counter.
constexpr std::string_view name_of(Counter counter) {
  using enum Counter;
  switch (counter) {
    case kSentPackets:
      return "sent_pkts";
    case kReceivedPackets:
      return "rcvd_pkts";
    case kSentBytes:
      return "sent_bytes";
    case kReceivedBytes:
      return "rcvd_bytes";
    case kSentIpv6Packets:
      return "sent_ipv6_pkts";
    case kReceivedIpv6Packets:
      return "rcvd_ipv6_pkts";
    case kOutOfSequence:
      return "out_of_sequence";
    case kDuplicateRequest:
      return "duplicate_request";
    case kPacketSequenceError:
      return "packet_seq_err";
    case kImpliedNakSequenceError:
      return "implied_nak_seq_err";
    case kLocalAckTimeout:
      return "local_ack_timeout_err";
    case kRetryExceeded:
      return "retry_exceeded_err";
    case kRnrNakSent:
      return "send_rnr_err";
    case kRnrNakReceived:
      return "rcvd_rnr_err";
    case kRnrNakRetryExceeded:
      return "rnr_nak_retry_err";
    case kOutOfBuffer:
      return "out_of_buffer";
    case kResumedInsideMessage:
      return "resumed_inside_message";
    case kRequestInvalid:
      return "resp_invalid_request";
    case kRequestAccessError:
      return "resp_remote_access_errors";
    case kRequestOperationError:
      return "resp_remote_operation_errors";
    case kReceivedErrorNak:
      return "req_error_naks";
    case kUnexpectedAcknowledge:
      return "unexpected_acks";
    case kUnexpectedResponse:
      return "unexpected_responses";
    case kBadResponse:
      return "req_bad_responses";
    case kWrongState:
      return "wrong_state_drops";
    case kOutsideMessage:
      return "outside_message_drops";
    case kAbandonedMessage:
      return "abandoned_messages";
    case kReceiveTooSmall:
      return "receive_too_small_drops";
    case kQkeyViolation:
      return "qkey_violations";
    case kSendsCompleted:
      return "rdma_sends";
    case kReceivesCompleted:
      return "rdma_recvs";
    case kSendCompletionError:
      return "req_cqe_error";
    case kReceiveCompletionError:
      return "resp_cqe_error";
    case kSendsFlushed:
      return "req_cqe_flush_error";
    case kReceivesFlushed:
      return "resp_cqe_flush_error";
    case kRemoteAccessError:
      return "req_remote_access_errors";
    case kRemoteInvalidRequest:
      return "req_remote_invalid_request";
    case kReceiveLengthError:
      return "resp_local_length_error";
    case kEarlyRepetition:
      return "roce_adp_retrans";
    case kTimeoutRepetition:
      return "timeout_repetitions";
    case kReceivedSendRequests:
      return "rx_send_requests";
    case kReceivedWriteRequests:
      return "rx_write_requests";
    case kReceivedReadRequests:
      return "rx_read_requests";
    case kReceivedAtomicRequests:
      return "rx_atomic_requests";
    case kSentSendRequests:
      return "tx_send_requests";
    case kSentWriteRequests:
      return "tx_write_requests";
    case kSentReadRequests:
      return "tx_read_requests";
    case kSentAtomicRequests:
      return "tx_atomic_requests";
  }
  return "";
}

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
  std::array<CounterCell, count_of<Counter>()> cells_;
};

}  // namespace urnic::transport
