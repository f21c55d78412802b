// Patience: how long a port waits for a peer that takes nothing.
#pragma once

#include <chrono>

namespace urnic::drivers {

/// A wire may lose frames, and must not stand still: frames for a peer that takes nothing are dropped after 100 ms when
/// waiting makes no sense, as the peer is stopped, and after 10 s whatever the reason. A peer that only waits for its
/// turn on a crowded processor loses nothing: queue pairs without an ACK timeout would never recover.
class Patience {
 public:
  /// The peer took something.
  void on_progress() { is_stuck_ = false; }

  /// The peer takes nothing now; whether it has lost our patience. `may_go_on` says whether it may take something
  /// if we wait, and is asked every 100 ms. Once patience is lost, it stays so until on_progress().
  template <typename Question>
  bool is_over(Question&& may_go_on) {
    const Clock::time_point now = Clock::now();
    if (!is_stuck_) {
      is_stuck_ = true;
      is_over_ = false;
      stuck_since_ = looked_at_ = now;
    }
    if (now - looked_at_ > kLook) {
      looked_at_ = now;
      is_over_ = now - stuck_since_ > kLongest || !may_go_on();
    }
    return is_over_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// How often we look what keeps the peer. On a crowded machine it may wait for its turn on a processor for longer than
  /// this: with eight threads that spin some 25 ms, with sixty more than 100 ms.
  static constexpr auto kLook = std::chrono::milliseconds(100);
  /// Longer than that: 2 s were seen where twenty threads wanted two processors.
  static constexpr auto kLongest = std::chrono::seconds(10);

  bool is_stuck_ = false;
  bool is_over_ = false;
  Clock::time_point stuck_since_;
  Clock::time_point looked_at_;
};

}  // namespace urnic::drivers
