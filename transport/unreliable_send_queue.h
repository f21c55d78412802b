// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UnreliableSendQueue: how far the work requests of a service without acknowledgements have been sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/completion.h"
#include "transport/dependencies.h"
#include "transport/qp_config.h"
#include "transport/send_completion.h"
#include "transport/wire/packet.h"
#include "transport/written_packet.h"

namespace urnic::transport {

/// Work requests are sent in order, every packet once, and each is done when its last packet has been handed
/// out. What cannot be sent fails, and the queue with it: everything after it is to be flushed (state SQE).
///
/// In a message the first packets fill the path MTU, so the bytes sent say which packet comes next.
class UnreliableSendQueue {
 public:
  UnreliableSendQueue(const QpDependencies& deps, const QpConfig& config) : deps_(deps), config_(config) {}

  /// Begins with config.send_psn at the oldest work request.
  void start();
  /// Goes on after drain() or a failure, with the PSN that comes next.
  void resume();
  /// From now on no new work request is begun (state SQD).
  void drain() { is_draining_ = true; }

  /// Whether there is a packet to send.
  bool has_work() const { return is_inside_message() || (!is_draining_ && !deps_.send_queue.is_empty()); }
  /// Whether the oldest work request has been sent in part.
  bool is_inside_message() const { return sent_bytes_ > 0; }
  bool has_failed() const { return has_failed_; }
  Psn next_psn() const { return next_psn_; }

  // --- The work request whose turn it is; only while has_work() ---

  const SendWqe& current() const { return deps_.send_queue.at(deps_.send_queue.head()); }
  /// What is left of its message.
  std::uint32_t remaining_bytes() const { return current().length - sent_bytes_; }

  /// Writes the next `size` bytes of its message as one packet to `out`.
  /// `packet` holds what the service has to say; PSN, immediate, padding and solicited bit are filled in
  /// here. The last packet completes the work request. Memory that cannot be read fails it: then the size
  /// is 0.
  WrittenPacket send(wire::Packet& packet, std::uint32_t size, std::span<std::byte> out);

  /// The same for a message that leaves whole and as it is, with nothing before or after it. `out` must have
  /// room for it.
  WrittenPacket send_bare(std::span<std::byte> out);

  /// Does and completes what needs no packet; what cannot be done fails.
  void do_local_work();

  /// Completes it with this error. Returns the packet of 0 bytes that is not sent.
  WrittenPacket fail(CompletionStatus status) { return fail(SendOutcome{.status = status}); }

  /// Copies what is posted and not sent into the ring, as far as it fits there
  /// (SendQueue::Limits::kept_bytes): it is then sent as it is now, whatever happens to the program's memory.
  /// What cannot be read now fails when its turn comes.
  void keep_unsent();

  /// Completes everything posted as flushed, what was sent in part included.
  void flush();

 private:
  WrittenPacket fail(const SendOutcome& failure);
  DmaStatus read(std::span<std::byte> to, wire::TailCrc* tail) const;
  void retire(const SendOutcome& outcome);

  const QpDependencies& deps_;
  const QpConfig& config_;
  Psn next_psn_;
  std::uint32_t sent_bytes_ = 0;  // of the oldest work request
  bool is_draining_ = false;
  bool has_failed_ = false;
};

}  // namespace urnic::transport
