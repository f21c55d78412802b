// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Endpoint: one end of a queue pair's conversation, whatever its service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/congestion/controller.h"
#include "transport/qp_config.h"
#include "transport/qp_state.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/packet.h"
#include "transport/wire/run.h"
#include "transport/work_request.h"
#include "transport/written_packet.h"

namespace urnic::transport {

class ReceiveQueue;

/// How a requester that waits for acknowledgements is getting on; zeros for those that wait for none.
struct SendProgress {
  Psn oldest{};                         ///< the first PSN that is neither acknowledged nor answered
  std::uint32_t packets_in_flight = 0;  ///< of SEND and WRITE, not acknowledged
  std::uint32_t reads_in_flight = 0;    ///< READs and atomics that are not answered
  std::uint8_t retries_used = 0;        ///< of the retry count, since the last progress
  std::uint8_t rnr_retries_used = 0;    ///< of the RNR retry count; stays 0 where that is infinite
  bool waits_for_receiver = false;      ///< the timer of an RNR NAK runs
  std::uint32_t retries = 0;            ///< timeouts and losses since RESET, modulo 2^32
  std::uint32_t rnr_waits = 0;          ///< RNR NAKs waited out since RESET, modulo 2^32
};

/// Takes asynchronous events of queue pairs.
class QpEventSink {
 public:
  virtual ~QpEventSink() = default;
  /// For the program.
  virtual void on_qp_event(QpNumber qp, QpEvent event) = 0;
  /// For the NIC: a packet came twice, packets before it are missing, or the peer did not acknowledge in
  /// time.
  virtual void on_loss() {}
};

/// A deterministic state machine without input and output of its own. Inputs are the state changes and the
/// on_*() calls, outputs the poll_*() calls; time is an argument. Completions go to the sinks given at
/// creation.
///
/// What the caller must do, under one lock: after any input, and after new work was posted, call
/// poll_transmit() until it returns 0, and call on_timeout() once next_timeout() has passed.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // --- State, from modify_qp; transitions and attributes were checked by the caller. Created in RESET. ---

  /// Back to RESET: forgets everything, both queues included (no thread posts meanwhile).
  virtual void reset() = 0;
  virtual void to_init(const QpConfig& config) = 0;
  /// Takes the responder's half of `config`.
  virtual void to_ready_to_receive(const QpConfig& config) = 0;
  /// Takes the requester's half of `config`; from SQD or SQE it goes on with what is posted.
  virtual void to_ready_to_send(const QpConfig& config) = 0;
  /// From RTS: no more work requests are begun. With config.notify_when_drained the event follows once all
  /// that were begun are done.
  virtual void to_send_queue_drained(const QpConfig& config) = 0;
  /// Everything posted, now or later, completes as flushed at the next poll_transmit().
  virtual void to_error() = 0;
  /// New attributes without a change of state.
  virtual void update(const QpConfig& config) = 0;

  virtual QpState state() const = 0;
  virtual const QpConfig& config() const = 0;
  /// The next PSN to be sent and expected, as query_qp reports them.
  virtual Psn next_send_psn() const = 0;
  virtual Psn next_receive_psn() const = 0;
  /// Whether the queue pair is in SQD, and work requests that were begun are not done yet.
  virtual bool is_draining() const = 0;
  /// Requests completed as a responder, 24 bits; 0 for services that do not count them.
  virtual std::uint32_t msn() const { return 0; }
  /// The newest PSN that an ACK may name: of a request that was executed and has no response of its own; one
  /// before the first PSN expected when there is none. Meaningful for services that acknowledge.
  virtual Psn acknowledgeable_psn() const { return {}; }
  virtual SendProgress send_progress() const { return {}; }
  /// How fast it may send; nothing where it sends as fast as it can.
  virtual std::optional<congestion::ControllerState> congestion_state(Time /*now*/) const {
    return std::nullopt;
  }

  /// `queue`, which XrcReceivers found, is about to be destroyed: from now on the endpoint receives nothing
  /// into it and completes nothing for it. It refuses the next packet of a message in progress there, as it
  /// refuses a new message to a queue that does not exist.
  virtual void forget_receiver(const ReceiveQueue& /*queue*/) {}

  // --- Packets and time ---

  /// A packet for this queue pair that passed parse, ICRC, P_Key, service and address checks. `packet` is
  /// only read during the call.
  virtual void on_packet(const wire::Packet& packet, Time now) = 0;

  /// The same for a run, whose packets come at once. False: they are to be given to on_packet(), one after
  /// the other. An endpoint takes a run only where nothing is unusual, and then the result is the same.
  virtual bool on_run(const wire::Run& /*run*/, Time /*now*/) { return false; }

  /// A CNP for this queue pair passed the same checks. Whether a controller obeys it.
  virtual bool on_congestion_notification(Time /*now*/) { return false; }

  /// The parameters that config().congestion points to have changed: the controller goes on with the new
  /// ones.
  virtual void on_congestion_parameters(Time /*now*/) {}

  /// The time next_timeout() named has come. Calling early or for nothing does no harm. Returns whether the
  /// peer did not acknowledge in time.
  virtual bool on_timeout(Time now) = 0;

  /// When on_timeout() has to be called next; kNever when no timer runs.
  virtual Time next_timeout() const = 0;

  /// When the peer's acknowledgement is overdue; kNever while none is waited for. A caller that has not
  /// looked at all packets which came before that time may call on_timeout() for this reason later.
  virtual Time acknowledge_by() const { return kNever; }

  /// The peer had no chance to acknowledge until `now`: the time for that counts from there.
  virtual void restart_ack_timer(Time /*now*/) {}

  /// Writes the next packet that should leave now, from the BTH to the last byte of padding, to the front of
  /// `out`; its size is 0 when there is nothing to send until the next input. `out` must have room for the
  /// largest packet of the path: headers (kMaxPacketHeaderBytes) + path MTU.
  virtual WrittenPacket poll_transmit(std::span<std::byte> out, Time now) = 0;

  /// The same, but several packets, `most` at most, that would leave one after the other may be written as a
  /// run. `out` has the same room, or more: it limits how many. No CRC is worked out for a run. A link that
  /// takes runs is memory of one host, so that fewer ACKs are requested.
  virtual WrittenPacket poll_run(std::span<std::byte> out, std::uint32_t /*most*/, Time now) {
    return poll_transmit(out, now);
  }

  /// Where the packet goes that the next poll_transmit() writes, for services without a peer; no address for
  /// the queue pair's own path, and when there is nothing to send.
  virtual Destination next_destination() const { return {}; }

  /// Whether an acknowledgement or a response waits to be sent.
  virtual bool has_pending_response() const = 0;
  /// Copies what is posted and not sent yet out of the program's memory, where the send queue has room for it
  /// (SendQueue::Limits::kept_bytes): the program may change that memory then.
  virtual void keep_unsent() {}
  /// What waits to leave together with something else is due now: nothing else may come any more.
  virtual void flush_delayed_ack() {}
};

/// The most that stands in front of a payload: BTH, XRCETH, RETH and immediate; or BTH, XRCETH and AtomicETH
/// without one.
inline constexpr std::size_t kMaxPacketHeaderBytes = 52;

}  // namespace urnic::transport
