// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SendWindow: which PSNs of the send queue are acknowledged, in flight, and next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "transport/qp_config.h"
#include "transport/rc/recovery/loss_recovery.h"
#include "transport/send_queue.h"
#include "transport/types.h"

namespace urnic::transport {

/// Maps the work requests of a send queue to PSNs. A work request gets its PSNs when its first packet is
/// about to leave: one per packet, for a READ one per packet of the response (fact 28), none for what needs
/// no packet. "READs" here are all that have a response: atomics, FLUSH and ATOMIC WRITE are READs of one
/// packet.
///
/// A READ of more responses than a piece has is requested piece by piece, each with a READ request of its
/// own. Pieces begin at multiples of their length, also when some are requested again: a responder repeats
/// what lies within one request that it had (fact 26).
///
///     head of the queue                 cursor                    tail
///     |-- oldest() ... in flight ... ---|--- not (or again to be) sent ---|
///
/// rewind() moves the cursor back to send something again; acknowledgements of what was sent before it still
/// count.
class SendWindow {
 public:
  explicit SendWindow(SendQueue& queue) : queue_(queue) {}

  struct Settings {
    std::uint32_t mtu_bytes = 0;
    std::uint32_t read_piece = 0;  ///< the most responses that one READ request asks for, at least 1
    Recovery recovery = Recovery::kGoBackN;  ///< as both ends agreed
  };
  /// Begins with `first` and an empty queue.
  void start(Psn first, const Settings& settings);

  /// Says what is sent again; not before start().
  LossRecovery& recovery() { return *recovery_; }

  /// The first PSN that is neither acknowledged nor answered.
  Psn oldest() const { return oldest_; }
  /// The first PSN that no work request has yet.
  Psn next_psn() const { return next_psn_; }
  /// One past the furthest PSN ever sent.
  Psn sent_end() const { return sent_end_; }
  bool has_outstanding() const { return oldest_ != sent_end_; }
  /// Whether `psn` was sent and is not acknowledged yet.
  bool is_outstanding(Psn psn) const { return ahead(psn) < ahead(sent_end_); }
  /// Whether something that was sent is waited for. What is about to be sent again, from the cursor on, is
  /// not.
  bool has_in_flight() const { return oldest_ != cursor_psn(); }
  /// Whether `psn` was never sent (as opposed to: was acknowledged long ago).
  bool is_beyond_sent(Psn psn) const { return distance(sent_end_, psn) >= 0; }

  // --- The cursor: what the requester sends next ---

  bool has_work() const { return cursor_ != queue_.tail(); }
  /// The same, without work requests of which nothing was ever sent.
  bool has_begun_work() const { return static_cast<std::int32_t>(begun_end_ - cursor_) > 0; }
  /// The work request at the cursor, with PSNs. Only while has_work().
  SendWqe& begin_current();
  std::uint32_t current_position() const { return cursor_; }
  /// The packet of the current work request to be sent next; for a READ the response packet to resume at.
  std::uint32_t current_packet() const { return cursor_packet_; }
  /// Whether the cursor is past the first packet of a SEND or WRITE.
  bool is_inside_data() const {
    return cursor_packet_ > 0 && !has_response(queue_.at(cursor_).request.operation);
  }
  bool current_is_head() const { return cursor_ == queue_.head(); }
  Psn cursor_psn() const;

  /// How many PSNs the packet at the cursor takes: a READ request takes one for each response up to the end
  /// of its piece.
  std::uint32_t current_psns() const;

  /// So many packets of SEND or WRITE at the cursor, all of one message, were sent, or a request that has a
  /// response.
  void advance(std::uint32_t packets);

  /// All before the cursor that are not acknowledged or answered.
  std::uint32_t psns_in_flight() const { return ahead(cursor_psn()); }
  /// Packets of SEND and WRITE before the cursor that are not acknowledged; then only those that the peer
  /// does not hold either.
  std::uint32_t unacknowledged_packets() const { return psns_in_flight() - read_psns_in_flight_; }
  std::uint32_t packets_in_flight() const {
    return unacknowledged_packets() - (is_selective_ ? held_packets() : 0);
  }
  /// How many more the peer could hold.
  std::uint32_t reach() const {
    if (!is_selective_) return ~std::uint32_t{0};
    return HeldPsns::kReach - std::min<std::uint32_t>(unacknowledged_packets(), HeldPsns::kReach);
  }
  /// Requests that have a response, and how many of their responses are missing.
  std::uint32_t reads_in_flight() const { return reads_in_flight_; }
  std::uint32_t read_psns_in_flight() const { return read_psns_in_flight_; }
  /// Whether `psns` more can be in flight without making old and new PSNs look alike: half the PSN space at
  /// the most.
  bool has_psn_space(std::uint32_t psns) const;

  /// Moves the cursor back to oldest(): everything from there is sent again. Returns whether that is inside a
  /// message.
  bool rewind();
  /// Whether the cursor is at a packet that was sent before.
  bool is_repeating() const { return is_outstanding(cursor_psn()); }
  /// Moves it over those that need not be sent again.
  void skip_unwanted();

  // --- Acknowledgement: what the completer has learnt ---

  /// The oldest work request; only while has_outstanding().
  SendWqe& head() { return queue_.at(queue_.head()); }
  Psn head_last_psn() const;
  /// Whether the response packet `index` of a READ is the first, or the last, that one request asks for.
  bool begins_piece(std::uint32_t index) const { return index % read_piece_ == 0; }
  bool ends_piece(const SendWqe& wqe, std::uint32_t index) const {
    return index + 1 == wqe.packet_count || begins_piece(index + 1);
  }
  bool are_in_one_piece(std::uint32_t first, std::uint32_t last) const {
    return first / read_piece_ == last / read_piece_;
  }
  /// All before `psn`, inside the head work request, is acknowledged.
  void acknowledge_part(Psn psn);
  /// The head work request is done; removes it.
  void retire_head();

 private:
  /// Packets from oldest() to `psn`: unsigned, since half the PSN space may be in flight.
  std::uint32_t ahead(Psn psn) const { return (psn.value() - oldest_.value()) & Psn::kMask; }
  std::uint32_t held_packets() const;
  RequestPart cursor_part() const;
  void answered_before(Psn psn);
  void pull_cursor_up();
  std::uint32_t packet_count(const SendWqe& wqe) const;
  std::uint32_t pieces_before(const SendWqe& wqe, std::uint32_t index) const;

  SendQueue& queue_;
  std::unique_ptr<LossRecovery> recovery_;
  std::uint32_t mtu_bytes_ = 0;
  std::uint32_t read_piece_ = 1;  // packets
  Psn oldest_;
  Psn sent_end_;  // one past the furthest PSN ever sent
  Psn next_psn_;
  std::uint32_t assigned_ = 0;   // position of the first work request without PSNs
  std::uint32_t begun_end_ = 0;  // position of the first work request of which nothing was sent
  std::uint32_t cursor_ = 0;
  std::uint32_t cursor_packet_ = 0;
  std::uint32_t reads_in_flight_ = 0;      // pieces of READs before the cursor that are not answered
  std::uint32_t read_psns_in_flight_ = 0;  // and how many of their responses are missing
  bool is_selective_ = false;              // with go-back-N none of what the peer may hold costs anything
  std::uint32_t next_message_ = 0;         // messages begun so far, 24 bits
};

}  // namespace urnic::transport
