// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UnreliablePlan: what applications are going to do over unreliable connections and with datagrams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nic/queues/qp_type.h"
#include "tools/simulation/seeds/scenario/memory_plan.h"
#include "tools/simulation/seeds/scenario/options.h"
#include "transport/work_request.h"

namespace urnic::sim {

/// Why a message cannot be sent. It puts the send queue into error (SQE).
enum class SendError : std::uint8_t {
  kNone,
  kTooLong,  ///< a datagram that does not fit into one packet
  kUnknownLkey,
};

/// A message that may get lost. Its id is its wr_id and names the pattern that it carries.
struct UnreliableMessage {
  std::uint64_t id = 0;
  transport::SendOperation kind =
      transport::SendOperation::kSend;  ///< SEND or WRITE, each with or without immediate
  std::uint32_t length = 0;
  std::uint32_t immediate = 0;
  bool signaled = true;
  bool solicited = false;
  bool has_wrong_qkey = false;  ///< no member may receive it
  SendError error = SendError::kNone;
  std::size_t to = 0;  ///< the member that shall get it, or kGroup
  Range source{};
  Range target{};  ///< of a WRITE

  static constexpr std::size_t kGroup = ~std::size_t{0};

  bool is_write() const { return kind >= transport::SendOperation::kWrite; }
  bool has_immediate() const {
    return kind == transport::SendOperation::kSendWithImmediate ||
           kind == transport::SendOperation::kWriteWithImmediate;
  }
  bool consumes_receive() const { return !is_write() || has_immediate(); }
};

/// Queue pairs that talk to each other: two of an unreliable connection, or any number with datagrams.
struct UnreliablePlan {
  nic::QpType type = nic::QpType::kUd;
  std::vector<HostId> hosts{};                             ///< of the members
  std::vector<std::vector<UnreliableMessage>> messages{};  ///< by the member that sends them
  std::vector<std::vector<Range>> buffers{};  ///< by member: what it receives into, again and again
  /// There is a buffer for every message, so that none is lost for lack of one.
  bool has_ample_buffers = false;
  std::uint32_t longest_message = 0;  ///< in bytes, of those that can be sent

  bool is_datagram() const { return type == nic::QpType::kUd; }
};

/// In front of each datagram that is received (fact 42).
inline constexpr std::uint32_t kGrhBytes = 40;

UnreliablePlan draw_unreliable_plan(nic::QpType type, std::vector<HostId> hosts, const Options& options,
                                    Random& random, MemoryPlan& memory, std::uint64_t& next_id);

}  // namespace urnic::sim
