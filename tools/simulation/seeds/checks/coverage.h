// Coverage: how often the interesting things happened, so that a simulator that has stopped testing them is
// noticed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "transport/enum_names.h"

namespace urnic::sim {

enum class CoverageEvent : std::uint8_t {
  kFrames,
  kOperations,
  kTwoHosts,
  kManyHosts,
  // Faults.
  kLost,
  kLostInBlackout,
  kLostInBurst,
  kLostInPartition,
  kLostExactly,
  kDuplicated,
  kReordered,
  kCorrupted,
  kTruncated,
  kPadded,
  kLinkPaused,
  kCongestionMarked,
  kNotified,
  kNotificationObeyed,
  kPortFull,
  // Topologies.
  kTopologies,
  kQueueFull,
  kBufferFull,
  kHeadroomFull,
  kNotEctDropped,
  kMarkedByQueue,
  kPriorityPaused,
  kNicPaused,
  kPortHeldUp,
  kWatchdogFired,
  kDroppedByWatchdog,
  kLinkCut,
  kLostWithLink,
  kNoWayLeft,
  kOtherWay,
  kGivenUp,
  kStall,
  kDeregistered,
  kDeregisteredInUse,
  // Recovery.
  kSequenceNak,
  kSelectiveNak,
  kSelectiveRepetition,
  kRnrNak,
  kRnrBehindUnanswered,
  kErrorNak,
  kTimeout,
  kImpliedNak,
  kRewind,
  kResumedInsideMessage,
  kReadResumedInside,
  kReadInPieces,
  kDuplicateRequest,
  kDuplicateRead,
  kRepeatedReadRefused,
  kDuplicateAtomic,
  kReplayedAnswer,
  kCoalescedAck,
  kAckInsideMessage,
  kFullWindow,
  kPsnWrapInsideMessage,
  kPsnWrapInsideRead,
  kOneEndInError,
  kReconnected,
  // Completions: successes by opcode, others by status.
  kSendCompleted,
  kWriteCompleted,
  kReadCompleted,
  kReceiveCompleted,
  kReceiveWithImmediateCompleted,
  kReceiveWithInvalidateCompleted,
  kCompareSwapCompleted,
  kSwapped,
  kFetchAddCompleted,
  kFlushCompleted,
  kAtomicWriteCompleted,
  kLocalInvalidateCompleted,
  kBindCompleted,
  kWindowUsed,
  kOutsideWindow,
  kKeyTakenBackInFlight,
  kQueueOverrun,
  kSharedReceiveCompleted,
  kSharedQueueLow,
  kSharedUnreliableReceived,
  kSharedDatagramReceived,
  kXrcCompleted,
  kXrcReceiveCompleted,
  kXrcQueueLow,
  kUnknownXrcQueue,
  kLastWqeReached,
  kDrainedInUse,
  kDrainedIdle,
  kPostedWhileDraining,
  kSendQueueDrained,
  kResumedFromDrained,
  kUnreliableDrained,
  kSendQueueError,
  kFlushedInSendQueueError,
  kResumedFromSendQueueError,
  kUnreliableSent,
  kUnreliableReceived,
  kDatagramSent,
  kDatagramReceived,
  kMulticastReceived,
  kFlushed,
  kLocalLengthError,
  kLocalProtectionError,
  kLocalAccessError,
  kRemoteInvalidRequest,
  kRemoteAccessError,
  kRemoteOperationError,
  kRetryExceeded,
  kRnrRetryExceeded,
  kLocalQpOperationError,
  kWindowBindError,
  // Connections made by rdma_cm.
  kConnectionAttempt,
  kConnectionEstablished,
  kEstablishedByData,
  kConnectionData,
  kConnectionRejected,
  kRejectedByProgram,
  kReplyRejected,
  kRejectedNoListener,
  kRejectedStale,
  kConnectionUnreachable,
  kRequestToldAgain,
  kDisconnectedAtOnce,
  kDisconnectUnanswered,
  kTimewaitExit,
  kServiceResolved,
  kServiceRefused,
  kLeftRequestSent,
  kLeftRequestReceived,
  kLeftReplySent,
  kLeftReplyReceived,
  kLeftEstablished,
  kLeftDisconnectSent,
  kLeftDisconnectReceived,
  kLeftTimewait,
  kManagementLost,
  kRequestRepeated,
  kReplyRepeated,
  kReadyRepeated,
  kDisconnectRepeated,
  kServiceRequestRepeated,
  kMoreTimeAsked,
};

/// "" for what is none.
constexpr std::string_view name_of(CoverageEvent event) {
  using enum CoverageEvent;
  switch (event) {
    case kFrames:
      return "frames sent";
    case kOperations:
      return "operations completed";
    case kTwoHosts:
      return "worlds of two hosts";
    case kManyHosts:
      return "worlds of more hosts";
    case kLost:
      return "frames lost";
    case kLostInBlackout:
      return "frames lost in blackouts";
    case kLostInBurst:
      return "frames lost in bursts";
    case kLostInPartition:
      return "frames lost in one-way partitions";
    case kLostExactly:
      return "n-th packet of a kind lost";
    case kDuplicated:
      return "frames duplicated";
    case kReordered:
      return "frames reordered";
    case kCorrupted:
      return "frames corrupted";
    case kTruncated:
      return "frames truncated";
    case kPadded:
      return "frames padded";
    case kLinkPaused:
      return "link paused";
    case kCongestionMarked:
      return "ECN marked";
    case kNotified:
      return "CNPs sent";
    case kNotificationObeyed:
      return "CNPs obeyed";
    case kPortFull:
      return "port full";
    case kTopologies:
      return "worlds with a topology";
    case kQueueFull:
      return "frames dropped at full queues";
    case kBufferFull:
      return "frames dropped at full buffers";
    case kHeadroomFull:
      return "frames dropped for lack of headroom";
    case kNotEctDropped:
      return "frames dropped that cannot be marked";
    case kMarkedByQueue:
      return "ECN marked by queues";
    case kPriorityPaused:
      return "priorities paused";
    case kNicPaused:
      return "those of NICs";
    case kPortHeldUp:
      return "NIC held up by its port";
    case kWatchdogFired:
      return "pause watchdogs fired";
    case kDroppedByWatchdog:
      return "frames dropped by them";
    case kLinkCut:
      return "links cut";
    case kLostWithLink:
      return "frames lost with them";
    case kNoWayLeft:
      return "frames without a way";
    case kOtherWay:
      return "frames by another way than the first";
    case kGivenUp:
      return "frames too late to be delivered";
    case kStall:
      return "host stalled";
    case kDeregistered:
      return "memory deregistered";
    case kDeregisteredInUse:
      return "its users";
    case kSequenceNak:
      return "sequence NAKs";
    case kSelectiveNak:
      return "selective NAKs";
    case kSelectiveRepetition:
      return "packets repeated on connections with selective repeat";
    case kRnrNak:
      return "RNR NAKs";
    case kRnrBehindUnanswered:
      return "RNR NAKs behind an unanswered READ";
    case kErrorNak:
      return "error NAKs";
    case kTimeout:
      return "ACK timeouts";
    case kImpliedNak:
      return "implied NAKs";
    case kRewind:
      return "requester went back";
    case kResumedInsideMessage:
      return "resumed inside a message";
    case kReadResumedInside:
      return "READ resumed part way";
    case kReadInPieces:
      return "READs asked for in pieces";
    case kDuplicateRequest:
      return "duplicate requests";
    case kDuplicateRead:
      return "duplicate READs";
    case kRepeatedReadRefused:
      return "duplicate READs of memory that was gone";
    case kDuplicateAtomic:
      return "duplicate atomics, FLUSHes, ATOMIC WRITEs";
    case kReplayedAnswer:
      return "answers to those replayed";
    case kCoalescedAck:
      return "ACKs for several messages";
    case kAckInsideMessage:
      return "ACKs inside a message";
    case kFullWindow:
      return "window full";
    case kPsnWrapInsideMessage:
      return "PSN wrapped inside a message";
    case kPsnWrapInsideRead:
      return "PSN wrapped inside a READ";
    case kOneEndInError:
      return "one end moved to ERR";
    case kReconnected:
      return "reconnected through RESET";
    case kSendCompleted:
      return "SEND completed";
    case kWriteCompleted:
      return "WRITE completed";
    case kReadCompleted:
      return "READ completed";
    case kReceiveCompleted:
      return "receive completed";
    case kReceiveWithImmediateCompleted:
      return "receive with immediate completed";
    case kReceiveWithInvalidateCompleted:
      return "receive with invalidate completed";
    case kCompareSwapCompleted:
      return "COMPARE SWAP completed";
    case kSwapped:
      return "COMPARE SWAP found what it compared with";
    case kFetchAddCompleted:
      return "FETCH ADD completed";
    case kFlushCompleted:
      return "FLUSH completed";
    case kAtomicWriteCompleted:
      return "ATOMIC WRITE completed";
    case kLocalInvalidateCompleted:
      return "LOCAL INV completed";
    case kBindCompleted:
      return "window bound";
    case kWindowUsed:
      return "windows used";
    case kOutsideWindow:
      return "bounds of a window violated";
    case kKeyTakenBackInFlight:
      return "key taken back while in use";
    case kQueueOverrun:
      return "completion queue overrun";
    case kSharedReceiveCompleted:
      return "receive of a shared queue completed";
    case kSharedQueueLow:
      return "shared queue ran low";
    case kSharedUnreliableReceived:
      return "UC messages received by a shared queue";
    case kSharedDatagramReceived:
      return "datagrams received by a shared queue";
    case kXrcCompleted:
      return "operations completed over XRC";
    case kXrcReceiveCompleted:
      return "receive of an XRC queue completed";
    case kXrcQueueLow:
      return "XRC queue ran low";
    case kUnknownXrcQueue:
      return "unknown XRC queue named";
    case kLastWqeReached:
      return "last WQE reached";
    case kDrainedInUse:
      return "send queue drained (SQD) while it was in use";
    case kDrainedIdle:
      return "send queue drained (SQD) while it was idle";
    case kPostedWhileDraining:
      return "posted in SQD";
    case kSendQueueDrained:
      return "SQ_DRAINED";
    case kResumedFromDrained:
      return "SQD to RTS";
    case kUnreliableDrained:
      return "UC or UD send queue drained (SQD)";
    case kSendQueueError:
      return "UC or UD send queue in error (SQE)";
    case kFlushedInSendQueueError:
      return "flushed in SQE";
    case kResumedFromSendQueueError:
      return "SQE to RTS";
    case kUnreliableSent:
      return "UC messages sent";
    case kUnreliableReceived:
      return "UC messages received";
    case kDatagramSent:
      return "datagrams sent";
    case kDatagramReceived:
      return "datagrams received";
    case kMulticastReceived:
      return "multicast datagrams received";
    case kFlushed:
      return "flushed";
    case kLocalLengthError:
      return "local length error";
    case kLocalProtectionError:
      return "local protection error";
    case kLocalAccessError:
      return "local access error";
    case kRemoteInvalidRequest:
      return "remote invalid request";
    case kRemoteAccessError:
      return "remote access error";
    case kRemoteOperationError:
      return "remote operation error";
    case kRetryExceeded:
      return "retry exceeded";
    case kRnrRetryExceeded:
      return "RNR retry exceeded";
    case kLocalQpOperationError:
      return "local QP operation error";
    case kWindowBindError:
      return "window bind error";
    case kConnectionAttempt:
      return "connections asked for by rdma_cm";
    case kConnectionEstablished:
      return "established on both sides";
    case kEstablishedByData:
      return "established by data, without RTU";
    case kConnectionData:
      return "SENDs over those received";
    case kConnectionRejected:
      return "connections rejected";
    case kRejectedByProgram:
      return "by the program";
    case kReplyRejected:
      return "by the one that asked";
    case kRejectedNoListener:
      return "for lack of a listener";
    case kRejectedStale:
      return "as stale";
    case kConnectionUnreachable:
      return "connections unreachable";
    case kRequestToldAgain:
      return "late request taken for a new one";
    case kDisconnectedAtOnce:
      return "disconnected by both sides at once";
    case kDisconnectUnanswered:
      return "DREQ given up";
    case kTimewaitExit:
      return "timewait over";
    case kServiceResolved:
      return "datagram services resolved";
    case kServiceRefused:
      return "datagram services refused";
    case kLeftRequestSent:
      return "id destroyed in REQ_SENT";
    case kLeftRequestReceived:
      return "id destroyed in REQ_RCVD";
    case kLeftReplySent:
      return "id destroyed in REP_SENT";
    case kLeftReplyReceived:
      return "id destroyed in REP_RCVD";
    case kLeftEstablished:
      return "id destroyed in ESTABLISHED";
    case kLeftDisconnectSent:
      return "id destroyed in DREQ_SENT";
    case kLeftDisconnectReceived:
      return "id destroyed in DREQ_RCVD";
    case kLeftTimewait:
      return "id destroyed in TIMEWAIT";
    case kManagementLost:
      return "messages of rdma_cm lost";
    case kRequestRepeated:
      return "REQ repeated";
    case kReplyRepeated:
      return "REP repeated";
    case kReadyRepeated:
      return "RTU repeated";
    case kDisconnectRepeated:
      return "DREQ repeated";
    case kServiceRequestRepeated:
      return "SIDR_REQ repeated";
    case kMoreTimeAsked:
      return "MRA sent";
  }
  return "";
}

/// Only worlds with a topology have it.
constexpr bool is_of_topology(CoverageEvent event) {
  return event >= CoverageEvent::kTopologies && event <= CoverageEvent::kGivenUp;
}

class Coverage {
 public:
  void add(CoverageEvent event, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(event)] += n; }
  std::uint64_t count(CoverageEvent event) const { return counts_[static_cast<std::size_t>(event)]; }

  void add(const Coverage& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::uint64_t, transport::count_of<CoverageEvent>()> counts_{};
};

}  // namespace urnic::sim
