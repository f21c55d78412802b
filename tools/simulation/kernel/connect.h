// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Connects queue pairs as programs do: from RESET through INIT and RTR to RTS.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/queues/queue_pair.h"
#include "transport/result.h"

namespace urnic::kernel {

/// What an end of a connection is given, or a queue pair for datagrams, which needs little of this.
struct ConnectionSettings {
  nic::AddressVector address{};  ///< of the peer
  transport::QpNumber peer_qp{};
  transport::Access access = transport::Access::kRemoteWrite | transport::Access::kRemoteRead |
                             transport::Access::kRemoteAtomic;  ///< what the peer may do
  transport::PathMtu path_mtu = transport::PathMtu::k1024;
  transport::Psn send_psn{100};
  transport::Psn receive_psn{100};
  std::uint8_t max_reads_in_flight = 4;  ///< of either end
  std::uint8_t min_rnr_timer = 12;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint32_t qkey = 0;
  std::optional<nic::ConnectionOptions> peer_options{};  ///< what the peer offers; none: nothing is agreed on
};

/// What brings a queue pair of this type to INIT, RTR or RTS, from the state before: all that it must have
/// there, and nothing that its type does not allow.
nic::QpAttributes attributes_for(nic::QpType type, transport::QpState state,
                                 const ConnectionSettings& settings);

/// The queue pair is in RESET. The error is the first refused transition's.
Result<void, Error> connect(nic::QueuePair& qp, const ConnectionSettings& settings);

}  // namespace urnic::kernel
