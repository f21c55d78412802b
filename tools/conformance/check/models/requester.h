// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Judges the requests of one side of a connection: sequence, lengths, repetitions.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/conformance/check/models/exchange.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// Follows requests of RC, XRC or UC in the order of the capture. What was lost on the way to the place of
/// capture, sent again, or is not in the capture at all, is told apart from what breaks a rule.
class RequesterModel {
 public:
  explicit RequesterModel(Exchange& exchange) : exchange_(exchange) {}

  void on_request(const Seen& seen);
  /// The network delivered a request once more: nothing that the requester did, but the responder may answer
  /// it.
  void on_copy(const Seen& seen);
  /// An answer to `psn` was seen. If a request jumped there, the queue pair did begin again.
  void confirm_restart(Psn psn);
  /// The capture ends, at `end_ns`.
  void finish(std::int64_t end_ns);

 private:
  /// The message that the newest request belongs to.
  struct Message {
    bool is_known = false;    ///< whether is_open can be relied on: no gap since
    bool is_open = false;     ///< more packets must follow
    bool from_start = false;  ///< its first packet was seen
    bool has_gap = false;
    Operation operation = Operation::kReserved;
    std::uint64_t announced = 0;  ///< bytes, of RETH
    std::uint64_t bytes = 0;
    std::uint64_t first_frame = 0;
  };

  RequestEntry entry_of(const Seen& seen) const;
  void begin(const Seen& seen);
  void check_first_psn(const Seen& seen);
  void on_far(const Seen& seen);
  void on_new(const Seen& seen, std::uint32_t missing);
  void on_repeat(const Seen& seen);
  void fill_gap(const Seen& seen, std::size_t index);
  void check_reads_in_flight(const Seen& seen);
  void count_try(const Seen& seen);
  void check_sequence(const Seen& seen);
  void check_segment(const Seen& seen);
  void follow_message(const Seen& seen);
  void finish_write(const Seen& seen);
  void check_repeated_read(const Seen& seen, RequestEntry& entry);
  void check_same(const Seen& seen, const RequestEntry& entry);
  void check_rnr_wait(const Seen& seen);
  void note_repetition(const Seen& seen, std::int64_t since_ns);
  void note_confidence(const Seen& seen);
  void settle_read_span(Psn next);
  void judge_holes();
  void judge_silence(std::int64_t end_ns);
  bool has_given_up() const;
  void count_message(const OpcodeInfo& info);

  Exchange& exchange_;
  Message message_;
  std::optional<RequestEntry> far_;     ///< a request whose PSN is far from all others
  std::optional<Psn> repetition_next_;  ///< where the current run of repetitions goes on
  std::uint64_t repetition_frame_ = 0;  ///< where it began
};

}  // namespace urnic::check
