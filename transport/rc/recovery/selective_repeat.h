// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SelectiveRepeat: what was lost is sent again, and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/rc/recovery/held_psns.h"
#include "transport/rc/recovery/loss_recovery.h"
#include "transport/types.h"

namespace urnic::transport {

/// The requester's rules of SELECTIVE_REPEAT.md.
class SelectiveRepeat final : public LossRecovery {
 public:
  explicit SelectiveRepeat(Psn first);

  void on_progress(Psn oldest) override;
  void on_executed(Psn end, bool misses) override;
  bool has_executed(Psn psn) const override { return distance(psn, held_.expected()) > 0; }
  Report on_held(Psn expected, HeldPsns::Bitmap bitmap) override;
  bool on_loss(Loss loss, const InFlight& in_flight) override;

  bool wants(Psn psn, RequestPart part) const override;
  void on_sent_again(Psn psn, Psn end, Psn next) override;

  std::uint32_t held_before(Psn psn) const override { return held_.size_before(psn); }
  bool holds(Psn psn) const override { return held_.contains(psn); }

 private:
  /// PSNs that are to be sent again, whatever the peer holds; from the front on, as they leave.
  struct Range {
    Psn begin;
    Psn end;

    bool contains(Psn psn) const { return distance(begin, psn) >= 0 && distance(psn, end) > 0; }
    bool is_empty() const { return distance(begin, end) <= 0; }
    void begin_at(Psn psn);
  };
  /// The last time that a packet was sent again.
  struct Repetition {
    Psn psn;
    Psn next;  ///< the first PSN that had never been sent then
    bool is_valid = false;
  };

  static constexpr std::size_t kRepetitions = 1024;

  bool is_lost(Psn psn) const;
  static std::size_t place_of(Psn psn) { return psn.value() % kRepetitions; }
  void forget_repetitions();

  HeldPsns held_;  ///< by the peer
  Psn last_held_;  ///< the furthest ever, since the peer expects what it expects
  Range all_;
  Range answered_;  ///< of these, only requests that have a response of their own
  /// The peer has reported that everything from this PSN on is lost, and nothing of it was acknowledged
  /// since. The report may come twice, and answers to what the peer had executed before it in between.
  std::optional<Psn> sends_again_from_;
  /// answered_ were lost as reported, and nothing was acknowledged since.
  bool is_asking_again_ = false;
  Psn last_repeated_;  ///< the furthest; only while has_repetitions_
  bool has_repetitions_ = false;
  /// By PSN, modulo. When more PSNs than these are in flight, as many READs have them, one may push out
  /// another: that costs a repetition too many. Null until something is sent again.
  std::unique_ptr<std::array<Repetition, kRepetitions>> repetitions_;
};

}  // namespace urnic::transport
