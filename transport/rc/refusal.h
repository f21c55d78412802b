// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Refusal: why a responder turns a request down, and what it tells the requester, the program and the
// observer.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/counters.h"
#include "transport/dependencies.h"
#include "transport/dma.h"
#include "transport/observer.h"
#include "transport/rc/syndrome.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// What the requester is told, and why. Small: the checks of every packet return it.
struct Refusal {
  Nak nak;
  RefusalReason reason{};
  DmaStatus memory = DmaStatus::kOk;  ///< where the memory is the reason
  bool is_silent = false;             ///< the NAK is only counted, and never sent
};

namespace refusal {

inline constexpr Refusal kBadSequence{.nak = Nak::kInvalidRequest,
                                      .reason = RefusalReason::kNotInsideMessage};
inline constexpr Refusal kNotAllowed{.nak = Nak::kInvalidRequest, .reason = RefusalReason::kQueuePairRights};
inline constexpr Refusal kNoXrcReceiver{.nak = Nak::kInvalidRequest, .reason = RefusalReason::kNoXrcReceiver};
inline constexpr Refusal kBadLength{.nak = Nak::kInvalidRequest, .reason = RefusalReason::kPacketLength};
inline constexpr Refusal kMisaligned{.nak = Nak::kInvalidRequest, .reason = RefusalReason::kMisaligned};
inline constexpr Refusal kTooManyRequests{.nak = Nak::kInvalidRequest,
                                          .reason = RefusalReason::kTooManyReads};
inline constexpr Refusal kReceiveTooSmall{.nak = Nak::kInvalidRequest,
                                          .reason = RefusalReason::kReceiveTooSmall};
/// As Linux' rdma_rxe answers the same.
inline constexpr Refusal kReceiveOverrun{.nak = Nak::kRemoteOperationalError,
                                         .reason = RefusalReason::kReceiveTooSmall};
inline constexpr Refusal kReceiveMemory{.nak = Nak::kRemoteOperationalError,
                                        .reason = RefusalReason::kReceiveMemory};

constexpr Refusal no_access(DmaStatus status) {
  return {.nak = Nak::kRemoteAccessError, .reason = RefusalReason::kMemory, .memory = status};
}

constexpr Refusal cannot_invalidate(DmaStatus status) {
  return {.nak = Nak::kRemoteAccessError,
          .reason = RefusalReason::kInvalidate,
          .memory = status,
          .is_silent = true};
}

}  // namespace refusal

/// Where it is counted.
Counter counter_for(Nak nak);

/// What our own program is told of it; nullopt where a completion tells it. The events are those that
/// libibverbs' users know: an illegal request is QP_REQ_ERR; one that reaches where it may not, or is of a
/// wrong length, is QP_ACCESS_ERR (as NVIDIA's verbs manual lists them).
std::optional<QpEvent> event_for(RefusalReason reason);

/// How far the message had come that a refused packet belongs to.
struct RefusedMessage {
  Rkey rkey{};                       ///< of a WRITE
  std::uint64_t address = 0;         ///< of a WRITE: where the packet would have gone
  std::uint64_t room = 0;            ///< bytes of its receive
  std::uint64_t received_bytes = 0;  ///< into that
};

/// What the observer of the queue pair is told.
RefusedRequest describe(const Refusal& refusal, const wire::Packet& packet, const RefusedMessage& message);

}  // namespace urnic::transport
