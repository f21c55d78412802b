// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FlowObserver: what one requester and its responder may say to each other, judged from the wire alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulation/seeds/checks/selective_requester.h"
#include "tools/simulation/seeds/checks/selective_responder.h"
#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/wire_view.h"
#include "transport/qp_config.h"

namespace urnic::sim {

/// Watches the requests of one side of a connection and the responses to them. Frames count as sent when the
/// device flushes them, as taken when the other device receives them; between both the network does what it
/// likes. From that it knows what either end can know, and complains about every packet that a correct one
/// would not send:
///
///   requester: new PSNs without a gap, again only what is not acknowledged and exactly as before, no more in
///   flight than window and READ limit allow, nothing while the receiver asked for time, no repetition
///   without a reason or timeout, AckReq where the window would close without; responder: no ACK for what it
///   cannot have, in order with the responses before it, the MSN of what it has, the same answer to the same
///   atomic, one sequence NAK per gap and with the expected PSN, nothing after it has refused, no completion
///   before its ACK.
///
/// Where both ends repeat selectively, SelectiveRequester and SelectiveResponder judge what may be sent again
/// and what has come, instead of the rules of go-back-N; a selective NAK anywhere else is wrong.
///
/// PSNs are kept as 64-bit numbers that do not wrap.
class FlowObserver {
 public:
  struct Limits {
    std::uint32_t mtu_bytes = 1024;
    std::uint32_t window_packets = 128;
    std::uint32_t max_reads_in_flight = 1;
    Duration ack_timeout{};
    std::uint32_t first_psn = 0;
    transport::Recovery recovery = transport::Recovery::kGoBackN;
  };

  struct Counts {
    std::uint64_t sequence_naks = 0;
    std::uint64_t selective_naks = 0;
    std::uint64_t selective_repetitions = 0;  ///< packets
    std::uint64_t rnr_naks = 0;
    std::uint64_t error_naks = 0;
    std::uint64_t duplicate_requests = 0;
    std::uint64_t duplicate_reads = 0;
    std::uint64_t duplicate_atomics = 0;  ///< FLUSH and ATOMIC WRITE too
    std::uint64_t replayed_answers = 0;   ///< to those
    std::uint64_t reads_resumed_inside = 0;
    std::uint64_t reads_in_pieces = 0;
    std::uint64_t messages_resumed_inside = 0;
    std::uint64_t rewinds = 0;
    std::uint64_t psn_wraps_inside_message = 0;
    std::uint64_t psn_wraps_inside_read = 0;
    std::uint64_t coalesced_acks = 0;
    std::uint64_t acks_inside_message = 0;
    std::uint64_t full_windows = 0;
    std::uint64_t rnr_behind_unanswered = 0;  ///< RNR NAKs that passed an unanswered READ
    std::uint64_t repeated_reads_refused = 0;
  };

  explicit FlowObserver(const Limits& limits);

  using Complaint = std::optional<std::string>;

  /// The next work request that becomes a message was posted.
  struct Posted {
    bool fence = false;  ///< it must wait for the READs, atomics and whatever else has a response before it
    std::uint32_t xrc_srq = 0;  ///< what its requests must name; 0 except for XRC
    std::uint32_t read_bytes =
        0;  ///< of a READ, which several requests may ask for one after the other; 0: one request
  };
  void on_posted(const Posted& posted) { posted_.push_back(posted); }
  Complaint on_request_sent(const WireView& packet, Time now);
  void on_request_taken(const WireView& packet, Time now);
  Complaint on_response_sent(const WireView& packet, Time now);
  void on_response_taken(const WireView& packet, Time now);
  /// The first PSN that is not acknowledged or answered, as far as the requester knows.
  std::uint64_t acknowledged() const { return acknowledged_; }

  /// The requester's queue pair goes to SQD: no message is begun any more; or it comes back from there.
  void on_draining(bool is_draining) { is_draining_ = is_draining; }
  /// Everything that was begun has been sent to its end, and acknowledged or answered.
  bool is_drained() const {
    return acknowledged_ == next_ && (messages_.empty() || messages_.back().is_complete);
  }

  /// The responder's program has seen the next successful receive. A complaint if its acknowledgement has not
  /// left: a program that ends now would leave its peer without one. It may have to wait for responses that
  /// go first, and where the port was full, or the round's share was used up, until `held_up_until`.
  Complaint on_receive_completed(Time held_up_until);

  /// What happened since something was acknowledged. What the requester takes when it has given up
  /// acknowledges nothing, and its completion may be seen late: progress counts from the next request on that
  /// leaves.
  struct Attempts {
    std::uint32_t rewinds = 0;   ///< times the requester went back
    std::uint32_t rnr_naks = 0;  ///< that made it wait
  };
  Attempts attempts_since_progress() const;
  /// Since when the acknowledgement of a SEND or WRITE that the responder took again is pending; or kNever.
  Time acknowledgement_pending_since() const { return acknowledgement_pending_since_; }
  /// With selective repeat: the longest time until now that the responder did not report what it had to.
  Duration longest_silence() const {
    return selective_ ? selective_->responder.longest_silence() : Duration(0);
  }
  /// Whether the responder has refused a request for good.
  bool has_refused() const { return has_refused_; }

  const Counts& counts() const { return counts_; }

 private:
  struct Message {
    std::uint64_t first = 0;   // PSN
    std::uint64_t end = 0;     // one past its last PSN so far
    std::uint64_t number = 0;  // 1 for the first message of the connection
    PacketKind kind = PacketKind::kSend;
    bool is_complete = false;
    bool is_answered = false;                 // its last response has been sent
    std::optional<std::uint64_t> original{};  // atomics: what the responder says to have found

    bool is_read() const { return kind == PacketKind::kReadRequest; }
    bool wants_response() const { return kind >= PacketKind::kReadRequest; }
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t xrc_srq = 0;
    std::uint32_t length = 0;  // from the RETH
    std::uint32_t bytes = 0;   // of payload so far
  };

  std::uint64_t extend(std::uint32_t psn) const;
  Message* find(std::uint64_t psn);
  Complaint on_new_request(const WireView& packet, std::uint64_t psn, Time now);
  Complaint begin_message(const WireView& packet);
  Complaint go_on_with_read(const WireView& packet);
  Complaint on_repeated_request(const WireView& packet, std::uint64_t psn);
  Complaint check_payload(const WireView& packet) const;
  Complaint check_order(std::uint64_t psn, Time now);
  Complaint check_selective_order(std::uint64_t psn, Time now);
  Complaint check_window(const WireView& packet, std::uint64_t psn, Time now);
  std::uint64_t read_psns_in_flight() const;
  Complaint check_msn(const WireView& packet, std::uint64_t from, std::uint64_t to) const;
  Complaint check_answered_before(std::uint64_t psn) const;
  const Message* find_unanswered_before(std::uint64_t psn) const;
  Complaint on_answer_sent(const WireView& packet, std::uint64_t psn);
  Complaint on_read_response_sent(const WireView& packet, std::uint64_t psn, Message& message);
  Complaint on_nak_sent(const WireView& packet, std::uint64_t psn);
  Complaint on_selective_nak_sent(const WireView& packet, std::uint64_t psn, Time now);
  void on_selective_nak_taken(const WireView& packet, std::uint64_t psn, Time now);
  /// How many messages a responder has completed that expects `psn` next; a READ counts when it is begun
  /// (fact 20).
  std::uint64_t messages_before(std::uint64_t psn) const;
  std::uint64_t psns_of(const WireView& request) const;
  bool acknowledge_before(std::uint64_t psn, Time now);
  bool pass_to(std::uint64_t psn, Time now);
  void made_progress(Time now);
  void may_go_back(Time told_at);
  void on_answer_lost(Time now);
  void begin_attempts();
  void on_receiver_not_ready(std::uint8_t syndrome, Time now);
  void forget_old_messages();
  void note_pending_acknowledgement(const WireView& request, std::uint64_t psn, Time now);
  static constexpr std::uint64_t kPsns = 1u << 24;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t& fingerprint(std::uint64_t psn) { return fingerprints_[psn % fingerprints_.size()]; }

  Limits limits_;
  Counts counts_;
  std::deque<Message> messages_;
  std::uint64_t forgotten_messages_ = 0;
  std::vector<std::uint64_t> fingerprints_;  // of data packets, by PSN

  // The requester, as far as the wire shows.
  std::uint64_t next_;          // never used
  std::uint64_t position_;      // one past the packet sent last
  std::uint64_t acknowledged_;  // all before is known to be acknowledged or answered
  std::uint64_t data_in_flight_ = 0;
  std::uint64_t reads_in_flight_ = 0;  // and everything else that has a response
  std::deque<Posted> posted_;          // messages that were posted and not begun
  std::uint32_t read_rest_ = 0;        // bytes of the newest READ that no request has asked for
  bool is_draining_ = false;           // none of those may be
  std::uint64_t since_ack_request_ = 0;
  Attempts attempts_;
  Attempts attempts_before_;  // the most that progress ended since a request left
  bool may_go_back_ = false;  // it was told to
  Time told_at_{};
  Time timer_started_{};
  bool waits_for_receiver_ = false;
  Time not_ready_until_{};
  Time first_refusal_until_{};
  bool has_progressed_since_refusal_ = false;

  // The responder. expected_ is an upper bound: what it was given may have been refused.
  std::uint64_t expected_;
  std::uint64_t answered_;                            // a lower bound: it has said that it has all before
  std::uint64_t least_expected_ = ~std::uint64_t{0};  // another: see on_request_taken()
  std::uint64_t read_response_next_ = 0;
  struct ReceiveTaker {
    std::uint64_t end = 0;  // PSN
    Time taken = transport::kNever;
  };
  Time acknowledgement_pending_since_ = transport::kNever;
  std::uint64_t acknowledgement_pending_of_ = 0;  // PSN
  std::deque<ReceiveTaker> receive_takers_;       // messages whose receives have not completed
  bool repeats_response_ = false;                 // for a request that came again
  std::optional<std::uint64_t> nak_out_;          // sequence NAK sent, and the packet has not come
  bool has_refused_ = false;

  struct Selective {
    SelectiveRequester requester;
    SelectiveResponder responder;
  };
  std::optional<Selective> selective_;  // nothing: goes back N
};

}  // namespace urnic::sim
