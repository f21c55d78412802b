// Coverage: how often the interesting things happened, so that a simulator that has stopped testing them is
// noticed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace urnic::sim {

/// The order is the order of kHappeningNames.
enum class Happening : std::uint8_t {
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
  kPortFull,
  kStall,
  kDeregistered,
  kDeregisteredInUse,
  // Recovery.
  kSequenceNak,
  kRnrNak,
  kErrorNak,
  kTimeout,
  kImpliedNak,
  kRewind,
  kResumedInsideMessage,
  kReadResumedInside,
  kDuplicateRequest,
  kDuplicateRead,
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
  kLastWqeReached,
  kUnreliableSent,
  kUnreliableReceived,
  kDatagramSent,
  kDatagramReceived,
  kMulticastReceived,
  kFlushed,
  kLocalLengthError,
  kLocalProtectionError,
  kRemoteInvalidRequest,
  kRemoteAccessError,
  kRemoteOperationError,
  kRetryExceeded,
  kRnrRetryExceeded,
  kLocalQpOperationError,
  kWindowBindError,
};

inline constexpr std::array kHappeningNames = std::to_array<std::string_view>({
    "frames sent",
    "operations completed",
    "worlds of two hosts",
    "worlds of more hosts",
    "frames lost",
    "frames lost in blackouts",
    "frames lost in bursts",
    "frames lost in one-way partitions",
    "n-th packet of a kind lost",
    "frames duplicated",
    "frames reordered",
    "frames corrupted",
    "frames truncated",
    "frames padded",
    "link paused",
    "ECN marked",
    "port full",
    "host stalled",
    "memory deregistered",
    "its users",
    "sequence NAKs",
    "RNR NAKs",
    "error NAKs",
    "ACK timeouts",
    "implied NAKs",
    "requester went back",
    "resumed inside a message",
    "READ resumed part way",
    "duplicate requests",
    "duplicate READs",
    "duplicate atomics, FLUSHes, ATOMIC WRITEs",
    "answers to those replayed",
    "ACKs for several messages",
    "ACKs inside a message",
    "window full",
    "PSN wrapped inside a message",
    "PSN wrapped inside a READ",
    "one end moved to ERR",
    "reconnected through RESET",
    "SEND completed",
    "WRITE completed",
    "READ completed",
    "receive completed",
    "receive with immediate completed",
    "receive with invalidate completed",
    "COMPARE SWAP completed",
    "COMPARE SWAP found what it compared with",
    "FETCH ADD completed",
    "FLUSH completed",
    "ATOMIC WRITE completed",
    "LOCAL INV completed",
    "window bound",
    "windows used",
    "bounds of a window violated",
    "key taken back while in use",
    "completion queue overrun",
    "receive of a shared queue completed",
    "shared queue ran low",
    "last WQE reached",
    "UC messages sent",
    "UC messages received",
    "datagrams sent",
    "datagrams received",
    "multicast datagrams received",
    "flushed",
    "local length error",
    "local protection error",
    "remote invalid request",
    "remote access error",
    "remote operation error",
    "retry exceeded",
    "RNR retry exceeded",
    "local QP operation error",
    "window bind error",
});

class Coverage {
 public:
  void add(Happening happening, std::uint64_t n = 1) { counts_[static_cast<std::size_t>(happening)] += n; }
  std::uint64_t count(Happening happening) const { return counts_[static_cast<std::size_t>(happening)]; }

  void add(const Coverage& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::uint64_t, kHappeningNames.size()> counts_{};
};

static_assert(kHappeningNames.size() == static_cast<std::size_t>(Happening::kWindowBindError) + 1);

}  // namespace urnic::sim
