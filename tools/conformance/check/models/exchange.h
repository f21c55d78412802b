// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// One direction of a connection: the requests of one side, and what the other side answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/check/cm/agreement.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/models/request_log.h"
#include "tools/conformance/check/packets/packet.h"
#include "tools/conformance/check/packets/psn.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

struct ExchangeCounts {
  std::uint64_t request_packets = 0;  ///< repetitions included
  std::uint64_t answer_packets = 0;
  std::uint64_t sends = 0;  ///< messages completely sent, once each
  std::uint64_t writes = 0;
  std::uint64_t reads = 0;
  std::uint64_t atomics = 0;
  std::uint64_t others = 0;            ///< FLUSH and ATOMIC WRITE
  std::uint64_t bytes = 0;             ///< payload of requests and READ responses, repetitions excluded
  std::uint64_t delivered_bytes = 0;   ///< of those, what answers confirmed; all of it where nothing answers
  std::uint64_t repeated_packets = 0;  ///< requests seen before
  std::uint64_t repeated_bytes = 0;
  std::uint64_t late_packets = 0;  ///< requests that came after requests with higher PSNs
  std::uint64_t missing_psns = 0;  ///< never seen when their turn came
  std::uint64_t sequence_naks = 0;
  std::uint64_t selective_naks = 0;
  std::uint64_t rnr_naks = 0;
  std::uint64_t implied_naks = 0;
  std::map<std::uint8_t, std::uint64_t> fatal_naks;  ///< by syndrome
  std::uint64_t rtt_samples =
      0;  ///< from a request sent once to its answer, as seen where the capture was made
  std::int64_t rtt_min_ns = 0;
  std::int64_t rtt_max_ns = 0;
  std::int64_t rtt_sum_ns = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};

/// The last time the responder said no.
struct Refusal {
  AnswerKind kind = AnswerKind::kAck;
  Psn psn;
  std::uint64_t frame = 0;
  std::int64_t time_ns = 0;
  std::int64_t wait_ns = 0;  ///< of an RNR NAK
  std::uint8_t syndrome = 0;
  bool is_open = false;  ///< nothing was sent again since
};

/// A response that is missing although later ones came: the requester must ask again (fact 21).
struct Hole {
  Psn psn;
  Operation operation = Operation::kRead;
  std::uint64_t frame = 0;      ///< where its absence was noticed
  std::uint64_t passed_in = 0;  ///< a new request, sent when everything else was answered; 0 for none
};

inline constexpr std::size_t kMaxHoles = 64;

/// What was on its way when a queue pair stopped has arrived by then, however slow the host.
inline constexpr std::int64_t kInFlightNs = 100'000'000;

/// How often the oldest request that waits for an answer was sent again since it is the oldest, and how
/// often it was refused for the time being.
struct Tries {
  Psn psn;
  std::uint32_t repetitions = 0;
  std::uint32_t refusals = 0;
};

/// What the models of requester and responder share. Bounded: see RequestLog.
struct Exchange {
  static constexpr std::uint32_t kManyAnswers = 3;

  Exchange(Findings& all_findings, std::uint32_t flow_index, std::size_t history)
      : findings(all_findings), flow(flow_index), log(history), mtu(all_findings.path_mtu()) {}

  Findings& findings;
  std::uint32_t flow;
  RequestLog log;
  std::uint32_t mtu;  ///< path MTU in bytes; 0 until something shows it
  bool is_reliable = true;
  bool last_span_unsure = false;  ///< the newest entry is a READ whose number of responses is not known yet
  /// Whether the newest request is known to be the newest ever sent. Not so when the capture begins in the
  /// middle of a repetition.
  bool is_settled = false;
  /// Answers that fitted, in a row from the first; many when the UDP ports of both directions agree as well
  /// (fact 6). A few may belong to another queue pair with the same PSNs.
  std::uint32_t fitting_answers = 0;
  bool lacks_requests = false;  ///< an answer was to one that is not here
  bool has_unplaced = false;    ///< a damaged request was seen last, whose PSN says nothing
  /// If the connection manager's messages are here.
  std::optional<Psn> first_psn;
  std::optional<AgreedLimits> limits;
  Tries tries;
  std::optional<Psn> acknowledged;  ///< the highest PSN that any answer confirmed
  std::optional<Refusal> refusal;
  std::optional<Refusal> fatal;
  std::vector<Hole> holes;
  std::uint32_t generation = 0;  ///< how often the queue pair began again
  ExchangeCounts counts;

  /// How many PSNs a READ of `length` bytes takes, at least 1 and at most RequestLog::kMaxSpan.
  std::uint32_t responses_for(std::uint32_t length) const;
  /// Takes a full packet's payload as the path MTU. False when it cannot be one.
  bool learn_mtu(std::size_t payload_bytes);
  /// Whether the capture has all frames, from before the repetitions under way.
  bool can_be_sure() const { return is_settled && !findings.is_lossy(); }
  /// Adds a finding that only a capture with all frames, from before the repetitions under way, can prove.
  void add_if_sure(Rule rule, std::initializer_list<std::uint64_t> frames, std::string expected,
                   std::string seen);
  /// The same, about `seen`, that only holds if the network did not deliver it late.
  void add_if_in_order(const Seen& seen, Rule rule, std::string expected, std::string what);
  /// The response with this PSN is there after all.
  void close_hole(Psn psn);
  /// Corrects the span of the newest entry once the path MTU is known.
  void settle_last_span();
  /// The tries of the request that is the oldest one now; nothing until an answer showed which that is.
  Tries* tries_of_oldest();
  /// How often that one may be sent again, if REQ and REP limit it.
  std::optional<std::uint32_t> repetitions_allowed() const;
  /// The connection manager's messages say how the queue pair begins.
  void begin_anew(const AgreedFlow& agreed);
  /// Forgets everything except the counts: the queue pair began again.
  void reset();
};

bool is_path_mtu(std::size_t bytes);

}  // namespace urnic::check
