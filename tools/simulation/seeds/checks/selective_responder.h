// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SelectiveResponder: what a responder with selective repeat has received and holds, as far as the wire
// shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/wire_view.h"

namespace urnic::sim {

/// Judges the answers of one responder by "The responder" of transport/rc/recovery/SELECTIVE_REPEAT.md:
///
///   a selective NAK names the first PSN that has not come, each packet that it holds and no other, and is
///   called for by a packet; no ACK leaves while it holds packets; a packet ahead, and one that ends a gap,
///   is reported in time.
///
/// The network may lose any answer, so all of this is about what leaves. What cannot be seen: whether a
/// request found a receive. So expected() is an upper bound of the first missing PSN; it may be any request
/// before that which takes a receive and was not acknowledged. And a packet more than 256 ahead of the one
/// bound and not of the other may be held or dropped, until a NAK tells. PSNs do not wrap here, as in
/// FlowObserver.
class SelectiveResponder {
 public:
  using Complaint = std::optional<std::string>;

  explicit SelectiveResponder(std::uint64_t first_psn) : acknowledged_(first_psn), expected_(first_psn) {}

  struct Request {
    std::uint64_t psn = 0;
    std::uint64_t end = 0;        ///< one past its last PSN
    bool may_be_refused = false;  ///< for lack of a receive, or without a word
  };
  void on_taken(const Request& request, Time now);
  /// The first PSN that has not come.
  std::uint64_t expected() const { return expected_; }

  /// It sends a selective NAK with this PSN.
  Complaint on_selective_nak(const WireView& nak, std::uint64_t psn, Time now);
  /// It sends an RNR NAK, so that `psn` must come again.
  void on_refused(std::uint64_t psn);
  /// It sends an ACK, or a response: it has all before `psn`.
  Complaint on_acknowledged(std::uint64_t psn, bool is_ack, Time now);

  /// The longest time until now that a report was due and had not left when the next packet came.
  Duration longest_silence() const { return longest_silence_; }

 private:
  struct Taken {
    std::uint64_t end = 0;
    bool may_be_refused = false;
    bool is_certain = false;  // was near enough to be kept, whatever happened to the packets before it
  };
  using Packets = std::map<std::uint64_t, Taken>;

  std::uint64_t least_expected() const;
  bool surely_holds() const;
  void take(const Request& request);
  void forget_before(std::uint64_t psn);
  void owe_report(Time now);
  void note_silence(Time now);
  Complaint check_expected(std::uint64_t psn) const;
  Complaint check_held(const WireView& nak, std::uint64_t psn) const;

  std::uint64_t acknowledged_;  // a lower bound: it has said that it has all before
  std::uint64_t expected_;
  Packets taken_;                      // from acknowledged_ on
  std::uint64_t naks_called_for_ = 0;  // each packet calls for one, and one may answer several
  Time report_due_since_ = transport::kNever;
  std::uint64_t report_up_to_ = 0;  // what an ACK must cover to be the report
  Duration longest_silence_{};
};

}  // namespace urnic::sim
