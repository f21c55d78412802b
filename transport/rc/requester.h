// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Requester: makes request packets of posted work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/completion.h"
#include "transport/congestion/pacer.h"
#include "transport/dependencies.h"
#include "transport/qp_config.h"
#include "transport/rc/credits.h"
#include "transport/rc/retry.h"
#include "transport/rc/send_window.h"
#include "transport/send_completion.h"
#include "transport/wire/packet.h"
#include "transport/written_packet.h"

namespace urnic::transport {

/// Cuts the work requests of a send queue into packets, as far as window, outstanding READs and timers allow.
/// Nothing is kept of a packet: what is sent again is read again from work request and memory.
class Requester {
 public:
  Requester(const QpDependencies& deps, const QpConfig& config, SendWindow& window, Retry& retry,
            const Credits& credits, congestion::Pacer& pacer)
      : deps_(deps), config_(config), window_(window), retry_(retry), credits_(credits), pacer_(pacer) {}

  /// Forgets which acknowledgements it requested.
  void start() {
    packets_since_ack_request_ = 0;
    is_draining_ = false;
    window_packets_ = config_.window_packets;
  }
  /// While it drains no new work request is begun (state SQD).
  void drain(bool draining) { is_draining_ = draining; }

  /// As Endpoint::poll_run(): a single packet where `most` is 1, and where it is 0, since the link takes no
  /// runs. `out` has room for `most`.
  WrittenPacket poll_transmit(std::span<std::byte> out, std::uint32_t most, Time now);

  /// Whether a SEND or WRITE has begun to leave, and not ended.
  bool is_inside_data() const { return window_.is_inside_data(); }

  /// Whether it is the turn of a work request that needs no packet: everything before it is done.
  bool is_at_local_work();
  /// Does it; the endpoint completes it with this status.
  CompletionStatus do_local_work();

  /// The oldest work request cannot be sent, for this reason: its memory is not what it says.
  std::optional<SendOutcome> head_error() const { return head_error_; }
  void clear_error() { head_error_.reset(); }

 private:
  bool has_work() const { return is_draining_ ? window_.has_begun_work() : window_.has_work(); }
  WrittenPacket wait(Time now);
  bool may_send(const SendWqe& wqe) const;
  bool may_ask(const SendWqe& wqe) const;
  std::uint32_t packets_between_ack_requests(bool takes_runs) const;
  std::uint32_t run_length(const SendWqe& wqe, std::uint32_t most) const;
  WrittenPacket fail_head(const SendOutcome& failure);
  WrittenPacket fail_memory(DmaStatus status);
  wire::Packet packet_for(const SendWqe& wqe, wire::Opcode opcode) const;
  WrittenPacket emit_request(const SendWqe& wqe, std::span<std::byte> out, std::uint32_t most, Time now);
  WrittenPacket emit_flush(const SendWqe& wqe, std::span<std::byte> out) const;
  WrittenPacket emit_atomic(const SendWqe& wqe, std::span<std::byte> out);
  WrittenPacket emit_atomic_write(const SendWqe& wqe, std::span<std::byte> out);
  WrittenPacket emit_read_request(const SendWqe& wqe, std::span<std::byte> out) const;
  WrittenPacket emit_data(const SendWqe& wqe, std::span<std::byte> out, std::uint32_t most, Time now);
  DmaStatus read(const SendWqe& wqe, std::uint32_t offset, std::span<std::byte> to, wire::TailCrc* tail);

  const QpDependencies& deps_;
  const QpConfig& config_;
  SendWindow& window_;
  Retry& retry_;
  const Credits& credits_;
  congestion::Pacer& pacer_;
  bool is_draining_ = false;
  std::uint32_t window_packets_ = 0;  // the most in flight, now
  std::uint32_t packets_since_ack_request_ = 0;
  std::optional<SendOutcome> head_error_;
};

}  // namespace urnic::transport
