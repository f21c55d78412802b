// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a queue pair is told by modify_qp.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/congestion/choice.h"
#include "transport/dma.h"
#include "transport/rc/retry_schedule.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/opcode.h"

namespace urnic::transport {

/// How a reliable connection sends again what was lost.
enum class Recovery : std::uint8_t {
  kGoBackN,          ///< everything from the first lost packet on: what every RNIC understands
  kSelectiveRepeat,  ///< only what was lost. Both ends must have agreed on it
};

/// Attributes of one end. The responder uses what RTR sets, the requester what RTS sets. Each service uses
/// only the attributes that it has: an unreliable connection has no timers, a datagram queue pair no peer.
struct QpConfig {
  wire::Service service = wire::Service::kRc;  ///< kRc, kUc, kUd or kXrc
  QpNumber local_qp{};
  QpNumber remote_qp{};
  PdId pd{};
  Access access = Access::kNone;  ///< what the peer may do on this queue pair

  PathMtu path_mtu = PathMtu::k1024;
  Psn receive_psn;  ///< the first one expected from the peer
  std::uint8_t max_responder_resources =
      1;                           ///< READs and atomics the peer may have outstanding (max_dest_rd_atomic)
  std::uint8_t min_rnr_timer = 0;  ///< code 0..31 sent in RNR NAKs (fact 35)

  Psn send_psn;                          ///< the first one sent
  std::uint8_t max_reads_in_flight = 1;  ///< READs and atomics we may have outstanding (max_rd_atomic)
  std::uint8_t ack_timeout = 14;         ///< code 0..31: 4.096 us x 2^code; 0 never times out (fact 36)
  std::uint8_t retry_count = 7;          ///< 0..7
  std::uint8_t rnr_retry = 7;            ///< 0..7; 7 is without end (fact 37)
  std::uint32_t qkey = 0;                ///< of datagrams

  /// In place of waits of one length, where `ack_timeout` is not 0; null: none. Outlives the queue pair, and
  /// changes only before the queue pair is told so.
  const RetrySchedule* retry_schedule = nullptr;
  bool has_endless_retries = false;  ///< a retry_count of 7 is without end, too
  /// A SEND that is longer than its receive is answered with a remote operational error, and ends the receive
  /// with LOC_QP_OP_ERR.
  bool is_long_send_operational = false;
  /// Of a WRITE only the packet that has come must be inside the region, not all that was announced.
  bool checks_writes_by_packet = false;
  /// A failure, or a flush, completes all requests that have no completion yet, also those that succeeded
  /// before: the oldest names the reason. The queue keeps them (SendQueue::take_room_from()).
  bool names_oldest_failure = false;
  bool marks_sent_immediate = false;  ///< a send with immediate data says so when it completes

  /// Whether the program wants an event when the send queue is drained (SQD).
  bool notify_when_drained = false;

  /// Shorter ACK timeouts are lengthened to this: where processes share cores, a peer may not have run yet.
  Duration min_ack_timeout{0};
  /// How long the ACK of a WRITE may wait for an answer of our program's to begin; see
  /// transport/rc/pending_ack.h.
  Duration ack_delay{0};
  /// The most packets in flight: SENDs and WRITEs, which peers acknowledge at least every quarter of it,
  /// because we ask them to (every half on a link that takes runs, Endpoint::poll_run()); and responses to
  /// READs, which we request in pieces of half of it.
  std::uint32_t window_packets = 128;
  /// The same after an ACK timeout, until the peer has said anything about what is in flight. A peer that is
  /// dead or stopped, or that is reached through a full queue, then gets one packet at a time. Its answer,
  /// one round trip later, says what it has.
  std::uint32_t window_after_timeout = 1;
  /// What both ends agreed on.
  Recovery recovery = Recovery::kGoBackN;
  /// How a connected queue pair slows down; null: not at all. Outlives the queue pair. Its owner may change
  /// parameters, not the kind, and then calls Endpoint::on_congestion_parameters().
  const congestion::Choice* congestion = nullptr;
};

/// Null where there is none.
inline std::unique_ptr<congestion::Controller> controller_for(const QpConfig& config) {
  return config.congestion != nullptr ? make_controller(*config.congestion, bytes(config.path_mtu)) : nullptr;
}

/// In whose name this queue pair reaches for remote-accessible memory.
constexpr MemoryUser memory_user(const QpConfig& config) {
  return {.pd = config.pd, .qp = config.local_qp};
}

}  // namespace urnic::transport
