// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What posting to a send or receive queue has in common.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "nic/queues/needs/queue_engine.h"
#include "transport/qp_state.h"
#include "transport/work_request.h"

namespace urnic::nic {

/// Why a work request was not accepted; the layer above makes an errno of it.
enum class PostStatus : std::uint8_t {
  kPosted,
  kQueueFull,     ///< ENOMEM
  kTooManySges,   ///< EINVAL
  kTooLong,       ///< EINVAL: over 2^31 bytes, or inline data over the limit
  kWrongState,    ///< EINVAL: posting is not allowed in this state
  kBadRequest,    ///< EINVAL: the operation or its address handle is nothing this queue pair can send
  kLost,          ///< 0: this state does not allow posting, and the NIC does not say so
  kNotSupported,  ///< EOPNOTSUPP
  kAbandoned,     ///< EIO: this is the child of a fork, and the device is its parent's
};

/// The states in which a queue pair takes work requests.
constexpr bool may_post_sends(transport::QpState state) {
  using enum transport::QpState;
  return state == kReadyToSend || state == kSqDrained || state == kSqError || state == kError;
}
constexpr bool may_post_receives(transport::QpState state) {
  return state != transport::QpState::kReset;
}

/// The bytes that the elements name together.
std::uint64_t total_length(std::span<const transport::Sge> sges);

/// The lock of a queue, which the child of a fork must not touch: a thread that is not there any more may
/// hold it.
std::unique_lock<std::mutex> lock_unless_abandoned(std::mutex& mutex, const QueueEngine& engine);

}  // namespace urnic::nic
