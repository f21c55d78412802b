// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UdRequester: makes datagrams of posted work.
#pragma once

#include <cstddef>
#include <span>

#include "transport/qp_config.h"
#include "transport/unreliable_send_queue.h"
#include "transport/work_request.h"
#include "transport/written_packet.h"

namespace urnic::transport {

/// SEND, with immediate or without, in one packet to wherever the work request says. Another operation, and
/// one without an address handle, fails with kLocalQpOperationError, a message longer than the path MTU with
/// kLocalLengthError (rdma_rxe says success and sends nothing: fact 42).
class UdRequester {
 public:
  UdRequester(const QpConfig& config, UnreliableSendQueue& queue) : config_(config), queue_(queue) {}

  /// As Endpoint::poll_transmit(); only while the queue has work.
  WrittenPacket poll_transmit(std::span<std::byte> out);

  /// Where the packet goes that the next poll_transmit() writes; only while the queue has work.
  Destination next_destination() const;

 private:
  /// Why the current work request cannot become a datagram; kSuccess when it can.
  CompletionStatus check() const;
  std::uint32_t qkey() const;

  const QpConfig& config_;
  UnreliableSendQueue& queue_;
};

}  // namespace urnic::transport
