// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AwaitedRepetition: whether a gap in the peer's requests tells anything new.
#pragma once

#include "transport/time.h"
#include "transport/types.h"

namespace urnic::transport {

/// A responder that has reported a missing packet says nothing more until that packet comes (fact 22). After
/// an RNR NAK the peer knows which packet it has to send again, too, and those that followed the refused one
/// at once tell nothing new. But when one of them comes a second time, later than the timer of the RNR NAK,
/// the peer has sent all again and the refused packet was lost. One that comes for the first time may have
/// crossed the RNR NAK, however late: the timer may be shorter than the way.
class AwaitedRepetition {
 public:
  /// None is waited for: the expected packet was executed, or is the first one.
  void end() { news_at_ = kAtOnce; }
  /// A sequence NAK says which one is missing.
  void report() { news_at_ = kNever; }
  /// The packet `psn` has come, and there is no receive for it: an RNR NAK is to be sent.
  void refuse(Psn psn) {
    news_at_ = kNever;
    furthest_ = psn;
  }
  /// The RNR NAK leaves, and its timer ends at `time`.
  void expect_after(Time time) { news_at_ = time; }

  /// Whether the gap before `psn`, which comes at `now`, is news.
  bool is_news(Psn psn, Time now) {
    if (news_at_ == kAtOnce) return true;
    const bool is_repeated = distance(psn, furthest_) >= 0;
    if (!is_repeated) furthest_ = psn;
    return is_repeated && now >= news_at_;
  }

 private:
  static constexpr Time kAtOnce = Time::min();

  Time news_at_ = kAtOnce;
  Psn furthest_;  ///< of what came from the refused packet on
};

}  // namespace urnic::transport
