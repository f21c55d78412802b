// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Responder: checks and executes the peer's requests, and sends it acknowledgements and responses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/completion.h"
#include "transport/congestion/pacer.h"
#include "transport/dependencies.h"
#include "transport/qp_config.h"
#include "transport/rc/awaited_repetition.h"
#include "transport/rc/pending_ack.h"
#include "transport/rc/recovery/reorder_buffer.h"
#include "transport/rc/refusal.h"
#include "transport/rc/responder_resources.h"
#include "transport/rc/syndrome.h"
#include "transport/receive_queue.h"
#include "transport/wire/packet.h"
#include "transport/wire/run.h"
#include "transport/written_packet.h"

namespace urnic::transport {

/// Each request packet passes the checks in the order of facts 29 to 33 and is executed at once;
/// poll_transmit() sends what is pending for it: responses in PSN order, then one acknowledgement for
/// everything before. The data of READs leave as fast as the pacer lets them; what comes after them keeps its
/// place.
class Responder {
 public:
  Responder(const QpDependencies& deps, const QpConfig& config, congestion::Pacer& pacer)
      : deps_(deps), config_(config), pacer_(pacer), receiver_(deps.receiver) {}

  /// Begins to expect config.receive_psn, with nothing pending.
  void start();

  /// The configuration was changed between start() and now: takes max_responder_resources from it. All else
  /// is looked up when it is needed.
  void update() { resources_.resize(config_.max_responder_resources); }

  void on_request(const wire::Packet& packet, Time now);
  /// As Endpoint::on_run().
  bool on_run(const wire::Run& run, Time now);

  /// As Endpoint::poll_run(), for responses: a single packet where `most` is 0 or 1. `out` has room for
  /// `most`.
  WrittenPacket poll_transmit(std::span<std::byte> out, std::uint32_t most, Time now);
  /// A packet of a request of ours leaves: an acknowledgement that waited goes after the last one of the
  /// message.
  void on_own_request(Time now, bool ends_message) {
    ack_.on_request_sent(now, ack_patience(config_.ack_delay, config_.ack_timeout), ends_message);
  }
  /// When an acknowledgement that waits is due, or a refusal that was withheld; kNever when none does.
  Time next_timeout() const {
    return withheld_ ? std::min(withheld_->until, ack_.waits_until()) : ack_.waits_until();
  }
  void on_timeout(Time now) {
    if (ack_.is_due(now)) ack_.flush_delayed_ack();
    if (withheld_ && withheld_->until <= now) end_silence();
  }
  /// As Endpoint::flush_delayed_ack(). The peer is not told any more of a refusal that is withheld.
  void flush_delayed_ack() {
    withheld_.reset();
    ack_.flush_delayed_ack();
  }

  bool has_pending_response() const {
    return resources_.has_pending() || ack_.is_pending() || nak_ || owes_selective_nak_ || withheld_;
  }
  /// A request was refused for good: once nothing is pending any more the connection is to go to ERR.
  bool has_failed() const { return has_failed_; }
  /// Drops all that is pending; completes the receive of a message in progress, and everything posted to a
  /// queue of our own, as flushed.
  void flush();
  /// As Endpoint::forget_receiver(). The receive of a message in progress goes without a completion, as those
  /// do that are still in the queue.
  void forget_receiver(const ReceiveQueue& queue);

  Psn expected_psn() const { return expected_psn_; }
  std::uint32_t msn() const { return msn_; }
  Psn acknowledgeable_psn() const { return acknowledgeable_psn_; }

 private:
  /// A message of several packets of which the first was executed.
  struct Message {
    wire::Operation operation = wire::Operation::kNone;
    std::uint64_t address = 0;  // WRITE: where the next packet goes
    Rkey rkey{};
    std::uint32_t remaining = 0;  // WRITE: bytes to come
  };

  struct PendingNak {
    std::uint8_t syndrome;
    Psn psn;
  };

  /// A refusal that the peer is told later. Until then the responder takes and answers nothing.
  struct Withheld {
    Refusal why;
    Psn psn;
    bool is_of_receive;  // that it ends a receive, too
    Time until;
  };

  /// In whose name the current message reaches for memory. An XRC target has no protection domain: the shared
  /// receive queue's counts, and so every XRC request names such a queue.
  MemoryUser memory_user() const {
    return {.pd = config_.service == wire::Service::kXrc ? receiver_.pd : config_.pd, .qp = config_.local_qp};
  }
  bool is_message_open() const { return message_.operation != wire::Operation::kNone; }
  void on_duplicate(const wire::Packet& packet);
  void on_gap(const wire::Packet& packet, Time now);
  bool holds_packets() const { return reorder_ != nullptr && !reorder_->held().is_empty(); }
  void execute_held(Time now);

  bool execute_next(const wire::Packet& packet, Time now);
  void on_executed(const wire::Packet& packet, Psn last, Time now);
  bool is_usual(const wire::Run& run) const;
  bool write_run(const wire::Packet& whole);
  bool receive_run(const wire::Packet& whole);
  std::optional<Refusal> check(const wire::Packet& packet) const;
  std::optional<Refusal> check_sequence(const wire::Packet& packet) const;
  std::optional<Refusal> check_length(const wire::Packet& packet, std::uint32_t packets) const;
  std::optional<Refusal> check_access(const wire::Packet& packet) const;
  std::optional<Refusal> find_xrc_receiver(const wire::Packet& packet);
  bool needs_receive(const wire::Packet& packet) const;

  std::optional<Refusal> execute(const wire::Packet& packet);
  std::optional<Refusal> execute_read(const wire::Packet& packet);
  std::optional<Refusal> end_part(const wire::Packet& packet, const std::optional<Refusal>& nak);
  std::optional<Refusal> execute_send(const wire::Packet& packet);
  std::optional<Refusal> execute_write(const wire::Packet& packet);
  std::optional<Refusal> execute_with_result(const wire::Packet& packet);
  std::optional<Refusal> invalidate(const wire::Packet& packet);

  void set_ack_pending(const wire::Packet& packet, Time now);
  [[gnu::cold]] void refuse(const Refusal& why, const wire::Packet& packet, Time now);
  void refuse(const Refusal& why, Psn psn, bool is_of_receive);
  Time silent_until(DmaStatus status, Rkey rkey) const;
  void withhold(const Withheld& refusal);
  [[gnu::cold]] void end_silence();
  [[gnu::cold]] void observe(const Refusal& why, const wire::Packet& packet) const;
  [[gnu::cold]] Refusal fail_receive(CompletionStatus status, const Refusal& why, const wire::Packet& packet);
  void complete_receive(CompletionStatus status);
  void complete_message(const wire::Packet& packet);
  std::uint32_t msn_for(const ResponderResources::Part& part);
  WrittenPacket emit_response(const ResponderResources::Part& part, std::span<std::byte> out, Time now);
  WrittenPacket emit_read_response(const ResponderResources::Part& part, std::span<std::byte> out, Time now);
  WrittenPacket emit_acknowledge(std::uint8_t syndrome, Psn psn, std::span<std::byte> out);
  WrittenPacket emit_acknowledge_before(const ResponderResources::Part& part, std::span<std::byte> out);
  WrittenPacket emit_selective_nak(std::span<std::byte> out);

  const QpDependencies& deps_;
  const QpConfig& config_;
  congestion::Pacer& pacer_;
  Psn expected_psn_;
  /// Of the newest packet that an ACK may name: not one that has a response of its own. rdma_rxe would take
  /// the ACK for that response, and complete a READ or an atomic that it knows no result of (Linux 6.1, seen
  /// live).
  Psn acknowledgeable_psn_;
  std::uint32_t msn_ = 0;       // what was executed
  std::uint32_t msn_told_ = 0;  // to the peer
  Message message_;

  bool has_receive_ = false;
  ReceiveWqe receive_;
  std::uint32_t received_bytes_ = 0;  // into receive_, or by the open WRITE

  /// Where the current message is received: our own end, or for XRC the end of the queue that it names;
  /// without a queue once that was destroyed.
  ReceiveEnd receiver_;
  ResponderResources resources_;
  PendingAck ack_;
  std::optional<PendingNak> nak_;
  std::optional<Withheld> withheld_;
  AwaitedRepetition repetition_;
  bool owes_selective_nak_ = false;
  bool has_failed_ = false;
  std::unique_ptr<ReorderBuffer>
      reorder_;  ///< with selective repeat, from the first gap on: most never see one
};

}  // namespace urnic::transport
