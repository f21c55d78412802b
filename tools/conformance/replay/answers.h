// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Our answers beside the captured ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/outcome.h"
#include "tools/conformance/replay/packets.h"

namespace urnic::replay {

/// Something that our responder sent.
struct OwnAnswer {
  OwnPacket packet;
  ExtendedPsn psn = 0;
  std::size_t event = 0;   ///< the request that made it, by its index in the direction
  bool is_repeat = false;  ///< that request had been executed before
};

/// What our responder had executed after an event.
struct Progress {
  ExtendedPsn expected = 0;  ///< the next PSN
  std::uint32_t msn = 0;
};

/// What was found out about an answer of either side.
struct Match {
  std::optional<std::size_t> partner;         ///< captured: index of ours; ours: event of the captured one
  std::optional<AllowedDeviation> deviation;  ///< why there is none, or why it may look different
};

/// Pairs two sequences of answers. Each of ours must be in the capture in this order or be excused, and the
/// other way round. README.md says what excuses.
class AnswerComparison {
 public:
  /// `progress` has one entry for each event of the direction.
  AnswerComparison(const Direction& direction, const std::vector<OwnAnswer>& own,
                   const std::vector<Progress>& progress);

  /// Up to the first difference, which goes to `outcome`.
  void run(Outcome& outcome);

  const std::vector<Match>& own_matches() const { return own_matches_; }
  const std::map<std::size_t, Match>& captured_matches() const { return captured_matches_; }  ///< by event
  /// What stands beside the captured answer of this event in the first difference; nothing if ours has none.
  const OwnAnswer* difference_partner() const { return difference_partner_; }

 private:
  static constexpr std::size_t kMostSkipped = 1024;

  void index_capture();
  bool try_match(std::size_t captured, Outcome& outcome);
  std::optional<AllowedDeviation> why_equal(const OwnAnswer& own, const Event& captured, bool& equal,
                                            Outcome* outcome);
  std::optional<AllowedDeviation> why_skip_own(const OwnAnswer& own, std::size_t captured) const;
  bool is_unasked_ack(const Event& captured, std::size_t event) const;
  void report(std::size_t captured, Outcome& outcome);
  void finish(Outcome& outcome);

  const Direction& direction_;
  const std::vector<OwnAnswer>& own_;
  const std::vector<Progress>& progress_;
  std::vector<std::size_t> captured_;  // events of the captured answers, copies left out
  std::vector<ExtendedPsn>
      acknowledged_from_;  // by captured answer: the most that it and later ones acknowledge
  std::vector<ExtendedPsn> requested_from_;  // by event: the lowest PSN that it and later ones ask for
  std::vector<Match> own_matches_;
  std::map<std::size_t, Match> captured_matches_;
  std::map<ExtendedPsn, std::uint32_t> msn_after_;  // what our MSN was once this PSN was executed
  std::size_t next_own_ = 0;
  ExtendedPsn acknowledged_ = INT64_MIN;  // by captured answers so far
  std::optional<std::uint32_t> msn_offset_;
  const OwnAnswer* difference_partner_ = nullptr;
};

}  // namespace urnic::replay
