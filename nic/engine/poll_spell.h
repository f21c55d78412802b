// PollSpell: for how long a thread of the program has polled in vain.
#pragma once

#include <chrono>
#include <utility>

#include "transport/time.h"

namespace urnic::nic {

/// A thread that polls again and again and finds nothing keeps a processor that the peer it waits for may need. After each spell of
/// such polls the engine looks whether that is so.
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

  /// Polls belong to one spell if no more lies between them.
  static constexpr transport::Duration kPause = std::chrono::microseconds(2);
  /// Longer than an answer takes of a peer that has a processor.
  static constexpr transport::Duration kSpell = std::chrono::microseconds(3);

 private:
  transport::Time last_{};
  transport::Time began_{};
};

}  // namespace urnic::nic
