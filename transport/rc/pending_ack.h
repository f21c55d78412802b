// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PendingAck: whether an acknowledgement is pending, and how long it may wait for a request of ours to leave
// with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "transport/rc/timing.h"
#include "transport/time.h"

namespace urnic::transport {

/// How long the acknowledgement of a WRITE may wait for the answer.
struct AckPatience {
  Duration first{};    ///< for its first packet
  Duration between{};  ///< from one packet to the next, as the window may be closed there
  Duration all{};      ///< for all of them
};

/// A peer's ACK timeout must not expire. Most have the same as we have, whose code is `timeout`; half of it
/// is left for both ways.
constexpr AckPatience ack_patience(Duration delay, std::uint8_t timeout) {
  constexpr int kDelaysBetween = 5;
  constexpr int kMostDelays = 50;
  const Duration longest = timeout == 0 ? Duration::max() : ack_timeout(timeout) / 2;
  return {.first = std::min(delay, longest),
          .between = kDelaysBetween * delay,
          .all = std::min(kMostDelays * delay, longest)};
}

/// A program that answers each RDMA WRITE with one of its own looks at its memory for the peer's WRITE, and
/// polls its completion queue for its own. If the acknowledgement comes alone, the program stops polling
/// before the answer has come. With a NIC that works while its program polls, the answer then waits for
/// another thread. So the acknowledgement of such a WRITE waits for the answer and leaves after its last
/// packet; all other acknowledgements leave at once.
///
/// A few late answers do not count, since a program that lost its processor for a moment is late once. If the
/// next acknowledgement left alone, the peer would stop polling in turn.
class PendingAck {
 public:
  bool is_pending() const { return due_ != kNever; }
  bool is_due(Time now) const { return due_ <= now; }
  /// When one that waits is due; kNever when none waits.
  Time waits_until() const { return is_waiting() ? due_ : kNever; }

  void set() { due_ = kAtOnce; }

  /// For the last packet of a WRITE that completes no receive. It may wait when one of the last few was
  /// answered within patience.first, and when no other came since our last request: a peer that sends several
  /// does not wait for us.
  void set_for_write(Time now, const AckPatience& patience) {
    const bool is_first = !std::exchange(is_unanswered_, true);
    arrived_ = now;
    if (is_pending() || !is_first || !is_answered_soon()) return set();
    due_ = now + patience.first;
  }

  /// A packet of a request of ours leaves at `now`; what waits goes after the last one of the message.
  void on_request_sent(Time now, const AckPatience& patience, bool ends_message) {
    if (std::exchange(is_unanswered_, false)) note_answer(now - arrived_ < patience.first);
    if (ends_message) return flush_delayed_ack();
    if (is_waiting()) due_ = std::min(now + patience.between, arrived_ + patience.all);
  }

  /// What waits is due.
  void flush_delayed_ack() {
    if (is_pending()) due_ = kAtOnce;
  }

  /// It was sent, or something that says the same.
  void clear() { due_ = kNever; }

 private:
  static constexpr Time kAtOnce = Time::min();
  static constexpr int kLateAnswersThatCount = 8;

  bool is_waiting() const { return due_ != kNever && due_ != kAtOnce; }
  bool is_answered_soon() const { return late_answers_ < kLateAnswersThatCount; }
  void note_answer(bool is_soon) {
    late_answers_ = is_soon ? 0 : std::min(late_answers_ + 1, kLateAnswersThatCount);
  }

  Time due_ = kNever;
  Time arrived_{};  // the newest WRITE
  bool is_unanswered_ = false;
  int late_answers_ = kLateAnswersThatCount;  // in a row; a first one that is soon is waited for
};

}  // namespace urnic::transport
