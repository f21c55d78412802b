// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Retry: the two retry counters of a requester and the two clocks that go with them.
#pragma once

#include <cstdint>

#include "transport/qp_config.h"
#include "transport/time.h"

namespace urnic::transport {

/// Counts attempts since the last progress and knows until when the requester waits: for an acknowledgement,
/// or for a receiver that was not ready. Every progress resets both counters (fact 36).
class Retry {
 public:
  static constexpr std::uint8_t kForever = 7;  ///< of rnr_retry; retry_count 7 means seven (fact 37)

  /// Takes counts and timeout from the attributes of RTS.
  void start(const QpConfig& config);
  /// Takes others, also while requests are outstanding: the timeout counts from when it began to run, and
  /// retries that were used stay used until the next progress.
  void update(const QpConfig& config);
  /// Forgets everything; no timer runs.
  void stop();

  /// Something was sent that will be acknowledged.
  void on_sent(Time now);
  /// Something was acknowledged; `more_in_flight` says whether more of what was sent is waited for.
  void on_progress(Time now, bool more_in_flight);

  /// The peer answers something after what is waited for: the wait for the acknowledgement begins again, and
  /// retries are counted from here.
  void on_sign_of_life(Time now) {
    retries_left_ = retry_count_;
    begin_schedule();
    restart(now);
  }

  /// The wait for the acknowledgement, if there is one, counts from `now`.
  void restart(Time now) {
    if (waits_since_ != kNever) waits_since_ = now;
  }

  /// After an ACK timeout the requester keeps to QpConfig::window_after_timeout, until the peer says anything
  /// about what is outstanding.
  void begin_probe() { is_probing_ = true; }
  void end_probe() { is_probing_ = false; }
  bool is_probing() const { return is_probing_; }

  /// All is about to be sent again: the acknowledgement timer stands still until the next on_sent().
  void wait_from_next_sent() { waits_since_ = kNever; }

  /// Uses up one retry after a timeout or a sequence error; false when there is none left. Then
  /// as wait_from_next_sent().
  [[nodiscard]] bool try_again();
  /// The same after an ACK timeout, which may have its place in a schedule.
  [[nodiscard]] bool try_again_after_timeout();
  /// Whether the wait that runs, or has just ended, is one before the regular ones.
  bool is_early() const { return schedule_ != nullptr && timeouts_ < schedule_->early; }
  /// Whether the schedule says to wait on after this timeout, and to send nothing; then it does.
  bool wait_on(Time now);
  /// Uses up one RNR retry and waits as the timer code says; false when there is none left.
  [[nodiscard]] bool try_again_after_rnr(std::uint8_t timer_code, Time now);
  /// The receiver refuses a copy of what it refused already: uses up no retry. While the time that it first
  /// requested has not passed, that time begins again, but not again and again: no peer holds us forever.
  void on_refused_again(std::uint8_t timer_code, Time now);

  bool is_waiting_for_receiver() const { return receiver_ready_at_ != kNever; }
  /// Whether nothing was sent, nor acknowledged, since the receiver was last found not ready.
  bool is_refused() const { return is_refused_; }
  /// Ends the wait for the receiver if its time has come.
  void end_receiver_wait(Time now);
  /// Whether the acknowledgement is overdue.
  bool is_overdue(Time now) const { return now >= acknowledge_by(); }

  Time next_timeout() const { return is_waiting_for_receiver() ? receiver_ready_at_ : acknowledge_by(); }
  /// kNever while no acknowledgement is waited for, nor the receiver given time.
  Time overdue_at() const { return is_waiting_for_receiver() ? kNever : acknowledge_by(); }

  // --- For people who watch ---

  /// Since the last progress.
  std::uint8_t retries_used() const { return static_cast<std::uint8_t>(retry_count_ - retries_left_); }
  std::uint8_t rnr_retries_used() const { return static_cast<std::uint8_t>(rnr_retry_ - rnr_retries_left_); }
  /// Ever, modulo 2^32.
  std::uint32_t retries() const { return retries_; }
  std::uint32_t rnr_waits() const { return rnr_waits_; }

 private:
  Time acknowledge_by() const {
    return waits_since_ == kNever || timeout_ == Duration::zero() ? kNever : waits_since_ + timeout_;
  }

  void begin_schedule() {
    if (timeouts_ == 0) return;
    timeouts_ = 0;
    timeout_ = schedule_->waits.front();
  }

  Duration timeout_{0};  // zero: never
  const RetrySchedule* schedule_ = nullptr;
  std::uint8_t timeouts_ = 0;  // of the schedule, since the last progress
  bool is_endless_ = false;
  std::uint8_t retry_count_ = 0;
  std::uint8_t rnr_retry_ = 0;
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_retries_left_ = 0;
  bool is_refused_ = false;
  bool is_probing_ = false;
  std::uint32_t retries_ = 0;
  std::uint32_t rnr_waits_ = 0;
  Time waits_since_ = kNever;  ///< for an acknowledgement; kNever while it does not
  Time receiver_ready_at_ = kNever;
  Time prolongable_until_{};  ///< while waiting for the receiver
};

}  // namespace urnic::transport
