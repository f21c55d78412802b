// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Patience: how long a port waits for a peer that takes nothing.
#pragma once

#include <chrono>

namespace urnic::drivers {

/// A wire may lose frames, and must not stand still. Waiting makes little sense after 100 ms when the peer is
/// stopped, and after half a second whatever the reason: the usual retries of a connection take so long. But
/// a peer that only waits for its turn on a crowded processor should lose nothing for 10 s: queue pairs
/// without an ACK timeout would never recover.
class Patience {
 public:
  /// The peer took something.
  void on_progress() { is_stuck_ = false; }

  /// The peer takes nothing now. `may_go_on` says whether it may take something if we wait, and is asked
  /// every 100 ms. What the questions below say holds until on_progress().
  template <typename Question>
  void look(Question&& may_go_on) {
    const Clock::time_point now = Clock::now();
    if (!is_stuck_) {
      is_stuck_ = true;
      is_stopped_ = is_stalled_ = is_given_up_ = false;
      stuck_since_ = looked_at_ = now;
    }
    if (now - looked_at_ <= kLook) return;
    looked_at_ = now;
    is_stopped_ = !may_go_on();
    is_stalled_ = is_stopped_ || now - stuck_since_ > kStall;
    is_given_up_ = now - stuck_since_ > kLongest;
  }

  /// Whether only what cannot go on without the peer should wait for it.
  bool is_stalled() const { return is_stalled_; }
  /// Whether nothing should wait for it at all.
  bool is_given_up() const { return is_given_up_; }

  /// For a wire whose only peer it is: looks, and says whether what waits is to be dropped, as the peer is
  /// stopped or given up.
  template <typename Question>
  bool is_over(Question&& may_go_on) {
    look(may_go_on);
    return is_stopped_ || is_given_up_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// How often we look what keeps the peer. On a crowded machine it may wait for its turn on a processor for
  /// longer than this: with eight threads that spin some 25 ms, with sixty more than 100 ms.
  static constexpr auto kLook = std::chrono::milliseconds(100);
  static constexpr auto kStall = std::chrono::milliseconds(500);
  /// 2 s were seen where twenty threads wanted two processors.
  static constexpr auto kLongest = std::chrono::seconds(10);

  bool is_stuck_ = false;
  bool is_stopped_ = false;
  bool is_stalled_ = false;
  bool is_given_up_ = false;
  Clock::time_point stuck_since_;
  Clock::time_point looked_at_;
};

}  // namespace urnic::drivers
