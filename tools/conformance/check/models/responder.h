// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Judges what a responder answers: acknowledgements, NAKs, READ responses, atomics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/check/models/exchange.h"
#include "tools/conformance/check/models/msn.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// Follows the answers to an exchange's requests, in the order of the capture. Facts 19 to 36.
class ResponderModel {
 public:
  explicit ResponderModel(Exchange& exchange) : exchange_(exchange), msn_(exchange) {}

  /// An answer that belongs to this exchange, its PSN included.
  void on_answer(const Seen& seen);
  /// The capture ends.
  void finish();

 private:
  /// What lies between the PSN acknowledged so far and another.
  struct Range {
    MessageCount messages;
    bool has_missing = false;
    bool only_between_messages = true;  ///< whether what is missing can only be whole messages
    Psn first_missing;
    std::uint64_t gap_frame = 0;
  };
  /// A run of RNR NAKs for one PSN.
  struct NotReady {
    Psn psn;
    std::uint64_t count = 0;
    std::uint64_t first_frame = 0;
    std::uint64_t last_frame = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::uint8_t syndrome = 0;
  };

  void forget();
  void on_acknowledge(const Seen& seen);
  void on_ack(const Seen& seen);
  void on_old_ack(const Seen& seen);
  void on_late(const Seen& seen);
  void on_nak(const Seen& seen, AnswerKind kind);
  void on_sequence_nak(const Seen& seen);
  void on_selective_nak(const Seen& seen);
  /// Moves on to the PSN that a NAK names as missing. Returns its request, if that is known.
  const RequestEntry* pass_to_gap(const Seen& seen);
  void on_rnr_nak(const Seen& seen);
  void on_fatal_nak(const Seen& seen);
  void on_read_response(const Seen& seen);
  void on_atomic_answer(const Seen& seen);
  /// One packet was all of the answer: it closes a hole, and moves on unless it came before. `ahead` as in
  /// advance_to().
  void on_whole_answer(const Seen& seen, std::uint32_t ahead);
  /// An answer with MSN to what is acknowledged already.
  void on_repeated_answer(const Seen& seen);
  void add_overtaken(const Seen& seen);
  void check_read_response(const Seen& seen, RequestEntry& read, std::uint32_t offset);
  void check_order_of_responses(const Seen& seen, RequestEntry& read, std::uint32_t offset);
  bool is_unsent(const Seen& seen);
  void complain_of_unsent(const Seen& seen, Rule rule, std::string expected);

  /// Moves on to `psn`, answered by `seen`; what was skipped on the way is judged, and the MSN, which may be
  /// `ahead` as MsnModel::on_msn() says.
  void advance_to(Psn psn, const Seen& seen, bool with_msn, std::uint32_t ahead);
  Range range_to(Psn psn, const Seen& seen);
  void judge_missing(const Range& range, const Seen& seen, bool with_msn);
  void note_lost_answer(const RequestEntry& entry, const Seen& seen);
  std::uint32_t messages_behind(Psn psn);
  /// READs and atomics only: the answer to a repeated request also counts later ones whose own answers got
  /// lost before the capture.
  std::uint32_t fetches_behind(Psn psn);
  void sample_rtt(const Seen& seen, const RequestEntry& entry);
  void refuse(const Seen& seen, AnswerKind kind, std::int64_t wait_ns);
  void end_not_ready(bool accepted, std::int64_t now_ns);

  Exchange& exchange_;
  MsnModel msn_;
  std::optional<Psn> open_gap_;  ///< of the last sequence NAK, until it is closed
  std::uint64_t open_gap_frame_ = 0;
  std::optional<Psn> last_ack_;  ///< of the last plain ACK
  std::optional<NotReady> not_ready_;
  std::uint32_t generation_ = 0;  ///< of the queue pair that all this is about
  bool complained_of_stranger_ = false;
};

}  // namespace urnic::check
