// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UcRequester: makes request packets of the work posted to an unreliable connection.
#pragma once

#include <cstddef>
#include <span>

#include "transport/qp_config.h"
#include "transport/unreliable_send_queue.h"
#include "transport/work_request.h"
#include "transport/written_packet.h"

namespace urnic::transport {

/// SEND and WRITE, with immediate or without, each packet once; BIND_MW and LOCAL_INV. No other operation
/// exists on this service: such a work request fails with kLocalQpOperationError.
class UcRequester {
 public:
  UcRequester(const QpConfig& config, UnreliableSendQueue& queue) : config_(config), queue_(queue) {}

  /// As Endpoint::poll_transmit(); only while the queue has work.
  WrittenPacket poll_transmit(std::span<std::byte> out);

  /// Everything goes to the one peer.
  Destination next_destination() const { return {}; }

 private:
  const QpConfig& config_;
  UnreliableSendQueue& queue_;
};

}  // namespace urnic::transport
