// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Plan: what the applications are going to do, drawn before the world begins.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/simulation/seeds/models/memory_model.h"
#include "tools/simulation/seeds/scenario/connection_plan.h"
#include "tools/simulation/seeds/scenario/options.h"
#include "tools/simulation/seeds/scenario/unreliable_plan.h"
#include "transport/completion.h"
#include "transport/dma.h"
#include "transport/work_request.h"

namespace urnic::sim {

/// A rule that a work request breaks on purpose. It ends the connection.
enum class Violation : std::uint8_t {
  kUnknownRkey,
  kStaleRkey,          ///< of a region that was deregistered
  kBeyondEnd,          ///< the last byte lies beyond the region
  kBeforeStart,        ///< the first byte lies in front of the region
  kNoRemoteRight,      ///< the region does not grant what the operation needs
  kWrongPd,            ///< the region belongs to another protection domain
  kNoQueuePairRight,   ///< the responder's queue pair does not grant it
  kReceiveTooSmall,    ///< the message is longer than the receive buffer
  kReceiveWithoutKey,  ///< the receive buffer's lkey is unknown
  kUnknownLkey,        ///< the requester's own
  kMisaligned,         ///< an atomic or ATOMIC WRITE at an address that is no multiple of 8
  kOutsideWindow,      ///< the last byte lies beyond the window, though inside the region
  kBadInvalidation,    ///< SEND with invalidate names a key that cannot be taken back
  kBadLocalKey,        ///< the same for LOCAL_INV
  kBadBinding,         ///< the region allows no windows
  kUnknownSrq,         ///< XRC: the number is none of the responder's domain
};
inline constexpr std::size_t kViolations = 16;

/// What the requester's completion must say.
transport::CompletionStatus status_of(Violation violation);
/// What the responder's receive must say, if the violation concerns one.
std::optional<transport::CompletionStatus> receive_status_of(Violation violation);

/// One send work request. Its id is its wr_id and names the pattern that the message carries.
struct Operation {
  std::uint64_t id = 0;
  transport::SendOperation kind = transport::SendOperation::kSend;
  std::uint32_t length = 0;
  bool signaled = true;
  bool solicited = false;
  bool fence = false;
  bool is_inline = false;
  std::uint32_t immediate = 0;
  std::vector<Range> local;  ///< the requester's memory: source, or target of what comes back
  Range remote;              ///< the responder's memory; what a window is bound to
  bool in_chain = false;  ///< other operations of the same plan use `remote` too, this one does not come last
  bool reads_chain = false;   ///< a READ of what the WRITE before it in the chain left
  std::uint64_t operand = 0;  ///< of an atomic: what is added or swapped in; no two are the same
  bool compares_in_vain =
      false;  ///< COMPARE SWAP with a number that is not there; otherwise with the one that may be
  transport::Flush flush{};        ///< of FLUSH; its length is `remote`'s
  bool uses_volatile_key = false;  ///< the responder's, which may be deregistered at any time
  std::uint8_t window = 0;         ///< of BIND_MW: 0 for the type 1 window, 1 for the type 2 window
  std::uint8_t xrc_queue = 0;      ///< XRC: which of the responder's shared receive queues the request names
  std::optional<Violation> violation;

  bool is_write() const {
    return kind == transport::SendOperation::kWrite || kind == transport::SendOperation::kWriteWithImmediate;
  }
  bool is_read() const { return kind == transport::SendOperation::kRead; }
  bool is_atomic() const { return transport::is_atomic(kind); }
  /// Whether it leaves its pattern in `remote`.
  bool places_data() const { return is_write() || kind == transport::SendOperation::kAtomicWrite; }
  /// Whether what comes back is put into `local`.
  bool brings_data() const { return is_read() || is_atomic(); }
  /// Whether some of it may be put there though it breaks a rule: several requests ask for a READ, one after
  /// the other, and only the last one reaches too far.
  bool may_bring_a_part() const {
    return is_read() && (violation == Violation::kBeyondEnd || violation == Violation::kOutsideWindow);
  }
  bool is_local() const { return transport::is_local(kind); }
  bool has_immediate() const {
    return kind == transport::SendOperation::kSendWithImmediate ||
           kind == transport::SendOperation::kWriteWithImmediate;
  }
  /// Whether it takes a receive work request at the responder.
  bool consumes_receive() const { return has_immediate() || is_send(); }
  /// Whether its bytes go into the receive's buffer.
  bool is_send() const { return kind <= transport::SendOperation::kSendWithInvalidate; }
};

/// The receive work request for the operation of the same plan that takes it; in the order of those.
struct Receive {
  std::uint32_t operation = 0;  ///< index of the one that shall consume it
  std::vector<Range> buffer{};  ///< the responder's memory
  bool unknown_lkey = false;
};

/// What one side of a pair requests, and what its peer posts to receive it.
struct Plan {
  std::vector<Operation> operations;
  std::vector<Receive> receives;
  /// What the responder's queue pair allows this requester.
  transport::Access responder_access = transport::Access::kRemoteRead | transport::Access::kRemoteWrite |
                                       transport::Access::kRemoteAtomic | transport::Access::kFlushGlobal;
};

/// Each host has this many shared receive queues for XRC, so that the number in a request matters.
inline constexpr std::size_t kXrcQueues = 2;
/// And one for all others.
inline constexpr std::size_t kSharedQueues = 1 + kXrcQueues;

/// All plans of a seed and the memory they need.
struct Plans {
  static Plans draw(const Options& options);

  /// By pair, then by the requester's end.
  std::vector<std::array<Plan, 2>> pairs;
  std::vector<UnreliablePlan> unreliable{};
  ConnectionPlans connections{};
  /// By host: the buffers of its shared receive queues, the ones for XRC after the other.
  std::vector<std::array<std::vector<Range>, kSharedQueues>> shared_buffers{};
  MemoryPlan::Sizes memory{};
  /// By host: where the numbers that atomics work on lie in Region::kAtomic.
  std::vector<std::vector<Range>> cells{};
};

/// What hosts do, in the order of Options::operation_weights.
inline constexpr std::array<transport::SendOperation, kPlannedOperations> kPlannedOperationKinds = {
    transport::SendOperation::kSend,
    transport::SendOperation::kSendWithImmediate,
    transport::SendOperation::kWrite,
    transport::SendOperation::kWriteWithImmediate,
    transport::SendOperation::kRead,
    transport::SendOperation::kSendWithInvalidate,
    transport::SendOperation::kCompareSwap,
    transport::SendOperation::kFetchAdd,
    transport::SendOperation::kFlush,
    transport::SendOperation::kAtomicWrite,
    transport::SendOperation::kLocalInvalidate,
    transport::SendOperation::kBindWindow};

std::string_view to_string(Violation violation);
std::string_view to_string(transport::SendOperation operation);

}  // namespace urnic::sim
