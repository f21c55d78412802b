// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpObserver: hears why a queue pair refused or failed, from the place that knows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "transport/dma.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/opcode.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// The rule that a request broke, in the order in which they are checked.
enum class RefusalReason : std::uint8_t {
  kNotInsideMessage,  ///< it goes on with no message, or begins one inside another
  kNoXrcReceiver,     ///< no shared receive queue of the XRC domain has that number
  kPacketLength,      ///< too long or short for its place in the message, the path MTU, or what its RETH says
  kQueuePairRights,   ///< the queue pair allows its peer no such operation
  kTooManyReads,      ///< more READs and atomics at once than max_dest_rd_atomic
  kMemory,            ///< what it names cannot be accessed so; see RefusedRequest::memory
  kMisaligned,        ///< an atomic at an address that is no multiple of 8
  kReceiveTooSmall,   ///< a SEND that is longer than its receive
  kReceiveMemory,     ///< what the receive names cannot be written
  kInvalidate,        ///< the key that a SEND takes back cannot be taken back; see RefusedRequest::memory
};

/// "" for what is no reason.
constexpr std::string_view name_of(RefusalReason reason) {
  using enum RefusalReason;
  switch (reason) {
    case kNotInsideMessage:
      return "not_inside_message";
    case kNoXrcReceiver:
      return "no_xrc_receiver";
    case kPacketLength:
      return "packet_length";
    case kQueuePairRights:
      return "queue_pair_rights";
    case kTooManyReads:
      return "too_many_reads";
    case kMemory:
      return "memory";
    case kMisaligned:
      return "misaligned";
    case kReceiveTooSmall:
      return "receive_too_small";
    case kReceiveMemory:
      return "receive_memory";
    case kInvalidate:
      return "invalidate";
  }
  return "";
}

/// A request of the peer's that a responder refused for good. Where a reason needs them, the other members
/// are meaningful.
struct RefusedRequest {
  RefusalReason reason{};
  DmaStatus memory = DmaStatus::kOk;
  wire::Opcode opcode{};
  Psn psn;
  std::uint32_t payload_bytes = 0;
  Rkey rkey{};
  std::uint64_t address = 0;
  std::uint64_t length = 0;       ///< of what it reaches for, or of the message
  Access wanted = Access::kNone;  ///< of the memory
  std::uint64_t room = 0;         ///< bytes of the receive
};

/// Elements of a work request of our own of which one cannot be read, or written.
struct LocalFault {
  std::span<const Sge> elements;  ///< only during the call
  PdId pd{};
  bool is_write = false;
};

/// Called in the middle of whatever the endpoint does, before the completion or event that tells the program.
/// Must not call the endpoint's inputs. While all goes well, only these are reported here: timeouts, what is
/// dropped, and the end by the program.
class QpObserver {
 public:
  virtual ~QpObserver() = default;
  virtual void on_refused(const RefusedRequest& request) = 0;
  virtual void on_local_fault(const LocalFault& fault) = 0;
  /// No acknowledgement came in time, for the n-th time since the last progress, 0 for the first.
  virtual void on_ack_timeout(std::uint8_t retries_used, Time now) = 0;
  /// What came over an unreliable service was dropped, as no receive was posted.
  virtual void on_no_receive() = 0;
  /// The queue pair has entered ERR or SQE.
  virtual void on_error_state() = 0;
};

}  // namespace urnic::transport
