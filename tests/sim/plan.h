// Plan: what the applications are going to do, drawn before the world begins.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/sim/memory_model.h"
#include "tests/sim/options.h"
#include "transport/completion.h"
#include "transport/dma.h"
#include "transport/work_request.h"

namespace urnic::sim {

/// A rule that a work request breaks on purpose. It ends the connection.
enum class Violation : std::uint8_t {
  kUnknownRkey,
  kStaleRkey,          ///< of a region that was deregistered
  kBeyondEnd,          ///< the last byte lies behind the region
  kBeforeStart,        ///< the first byte lies in front of the region
  kNoRemoteRight,      ///< the region does not grant what the operation needs
  kWrongPd,            ///< the region belongs to another protection domain
  kNoQueuePairRight,   ///< the responder's queue pair does not grant it
  kReceiveTooSmall,    ///< the message is longer than the receive buffer
  kReceiveWithoutKey,  ///< the receive buffer's lkey is unknown
  kUnknownLkey,        ///< the requester's own
};
inline constexpr std::size_t kViolations = 10;

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
  std::vector<Range> local;  ///< the requester's memory: source, or target of a READ
  Range remote;              ///< the responder's memory, for WRITE and READ
  bool in_chain = false;     ///< other operations of the same plan use `remote` too, this one does not come last
  bool reads_chain = false;  ///< a READ of what the WRITE before it in the chain left
  std::optional<Violation> violation;

  bool is_write() const {
    return kind == transport::SendOperation::kWrite || kind == transport::SendOperation::kWriteWithImmediate;
  }
  bool has_immediate() const {
    return kind == transport::SendOperation::kSendWithImmediate ||
           kind == transport::SendOperation::kWriteWithImmediate;
  }
  /// Whether it takes a receive work request at the responder.
  bool consumes_receive() const { return has_immediate() || kind == transport::SendOperation::kSend; }
  /// Whether its bytes go into the receive's buffer.
  bool is_send() const {
    return kind == transport::SendOperation::kSend || kind == transport::SendOperation::kSendWithImmediate;
  }
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
  transport::Access responder_access = transport::Access::kRemoteRead | transport::Access::kRemoteWrite;
};

/// All plans of a seed and the memory they need.
struct Plans {
  static Plans draw(const Options& options);

  /// By pair, then by the requester's side.
  std::vector<std::array<Plan, 2>> pairs;
  /// By side, then by region: sizes in bytes.
  std::array<std::array<std::uint32_t, kRegions>, 2> memory{};
};

std::string_view to_string(Violation violation);
std::string_view to_string(transport::SendOperation operation);

}  // namespace urnic::sim
