// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PollSpell: for how long a thread of the program has polled and found nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "transport/time.h"

namespace urnic::nic {

/// A thread that polls again and again and finds nothing keeps a processor that the peer it waits for may
/// need. After each spell of such polls the engine looks whether that is so.
///
/// One thread.
class PollSpell {
 public:
  static PollSpell& of_this_thread() {
    thread_local constinit PollSpell spell;
    return spell;
  }

  /// The thread polls, and finds nothing. Whether that ends a spell; the next one begins then.
  bool on_empty_poll(transport::Time now) {
    if (now - std::exchange(last_, now) >= kPause) began_ = now;
    if (now - began_ < kSpell) return false;
    began_ = now;
    return true;
  }

  /// The thread is about to give its turn away, since the peer it waits for shares its processor. Whether it
  /// should sleep for a moment instead: the scheduler looks for an idle processor when a thread wakes up, and
  /// hardly moves one that yields again and again. More and more rarely while that goes on, as there may be
  /// none.
  bool should_sleep(transport::Time now) {
    if (now - std::exchange(last_yield_, now) >= kEndOfSharing) {
      shared_since_ = now;
      until_sleep_ = kFirstSleepAfter;
    }
    if (now - shared_since_ < until_sleep_) return false;
    shared_since_ = now;
    until_sleep_ = std::min(2 * until_sleep_, kLastSleepAfter);
    return true;
  }

  /// Polls belong to one spell if no more lies between them.
  static constexpr transport::Duration kPause = std::chrono::microseconds(2);
  /// Longer than an answer takes of a peer that has a processor.
  static constexpr transport::Duration kSpell = std::chrono::microseconds(3);
  static constexpr transport::Duration kEndOfSharing = std::chrono::milliseconds(1);
  static constexpr transport::Duration kFirstSleepAfter = std::chrono::milliseconds(1);
  static constexpr transport::Duration kLastSleepAfter = std::chrono::milliseconds(256);

 private:
  transport::Time last_{};
  transport::Time began_{};
  transport::Time last_yield_{};
  transport::Time shared_since_{};
  transport::Duration until_sleep_{};
};

}  // namespace urnic::nic
