// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SelectiveRequester: what a requester with selective repeat may send, as far as the wire shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/wire_view.h"

namespace urnic::sim {

/// Judges the packets of one requester by "The requester" of transport/rc/recovery/SELECTIVE_REPEAT.md:
///
///   again only what is lost by what it was told, once until a packet is held that it sent for the first time
///   afterwards, and before anything new; from the oldest on after a timeout, from the refused one on after
///   an RNR NAK; requests of responses when an answer was lost; new SENDs and WRITEs as long as fewer than
///   the window are neither acknowledged nor held, and fewer than 256 not acknowledged.
///
/// When exactly its timer has run out cannot be seen: what it was told after the earliest possible moment may
/// be forgotten or not. PSNs do not wrap here, as in FlowObserver.
class SelectiveRequester {
 public:
  using Complaint = std::optional<std::string>;

  explicit SelectiveRequester(std::uint64_t first_psn)
      : oldest_(first_psn), expected_(first_psn), furthest_(first_psn) {}

  /// The most SENDs and WRITEs that may not be acknowledged, in packets.
  static constexpr std::uint32_t kMostUnacknowledged = WireView::kHeldPackets;

  struct Request {
    std::uint64_t psn = 0;
    std::uint64_t end = 0;  ///< one past its last PSN
    bool wants_response = false;
  };
  /// A packet leaves for the first time.
  Complaint on_new(const Request& request, std::uint32_t window_packets, Time now);
  /// One leaves again; a READ that was answered in part from there on.
  Complaint on_repeated(std::uint64_t psn, Time now);
  bool may_repeat(std::uint64_t psn);
  /// When the oldest packet left for the last time; there must be one.
  Time oldest_sent_at() const { return packets_.begin()->second.last_sent_at; }
  /// How many packets are neither acknowledged nor held.
  std::uint32_t packets_in_flight() const;

  /// All before `psn` is acknowledged, and answered where it is asked.
  void on_acknowledged(std::uint64_t psn);
  /// The peer says that it has all before `psn`.
  void on_told(std::uint64_t psn);
  std::uint64_t told() const { return expected_; }
  struct News {
    bool begins_round = false;     ///< something is lost
    bool is_sign_of_life = false;  ///< one is held that is further ahead than any the peer had before
  };
  News on_selective_nak(const WireView& nak, std::uint64_t psn, Time now);
  /// An RNR NAK of this packet: all from there on is sent again.
  void on_refused(std::uint64_t psn);
  /// A NAK of this packet that ends the connection, and passes one that waits for an answer: it is not held,
  /// whatever was reported.
  void on_refused_for_good(std::uint64_t psn);
  /// An answer is missing. True unless everything may be asked again already.
  bool on_answer_lost();
  /// It goes back, to `psn` at first: its timer ran out, at `overdue_since` or later.
  Complaint on_timeout(std::uint64_t psn, Time overdue_since);
  /// Its timer may have run out.
  void may_go_back();

 private:
  enum class Permission : std::uint8_t {
    kNone,
    kWhileMissing,  // until the peer is known to have it
    kGranted,
  };
  struct Packet {
    std::uint64_t psn = 0;
    std::uint64_t end = 0;
    bool wants_response = false;
    std::uint64_t first_sent = 0;  // a place in the order of all transmissions
    std::uint64_t last_sent = 0;
    Time last_sent_at{};
    bool must_repeat = false;  // before anything new
    Permission permission = Permission::kNone;
    bool is_held = false;
    bool was_held_when_refused = false;  // at an RNR NAK of one before it
    Time reported_at{};                  // that it is held, the last time

    bool was_repeated() const { return last_sent != first_sent; }
  };
  using Packets = std::map<std::uint64_t, Packet>;

  /// The packet that has this PSN, a READ also inside; or null.
  Packet* find(std::uint64_t psn);
  bool take_report(const WireView& nak, std::uint64_t psn, Time now, News& news);
  void lose(Packet& packet, News& news);
  void lose_what_is_missing(std::uint64_t psn, News& news);
  void lose_everything(std::uint64_t psn, News& news);

  Packets packets_;                // that are not acknowledged or not answered
  std::uint64_t oldest_;           // the first PSN that is not
  std::uint64_t expected_;         // the peer has said that it has all before
  std::uint64_t furthest_;         // one past the last packet that the peer has had, as far as it said
  std::uint64_t sent_ = 0;         // transmissions
  std::uint64_t whole_round_ = 0;  // PSN from which on everything was lost the last time
  bool is_refused_ = false;        // and nothing was sent again since
};

}  // namespace urnic::sim
