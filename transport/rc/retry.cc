// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/retry.h"

#include <algorithm>

#include "transport/rc/timing.h"

namespace urnic::transport {

namespace {

/// What is left of `count` retries when `used` were used.
std::uint8_t left_of(std::uint8_t count, std::uint8_t used) {
  return static_cast<std::uint8_t>(count - std::min(count, used));
}

}  // namespace

void Retry::start(const QpConfig& config) {
  retries_left_ = retry_count_;
  rnr_retries_left_ = rnr_retry_;
  is_refused_ = is_probing_ = false;
  timeouts_ = 0;
  update(config);
}

void Retry::update(const QpConfig& config) {
  timeout_ = config.ack_timeout == 0 ? Duration::zero()
                                     : std::max(ack_timeout(config.ack_timeout), config.min_ack_timeout);
  schedule_ = config.ack_timeout == 0 ? nullptr : config.retry_schedule;
  timeouts_ =
      schedule_ == nullptr ? std::uint8_t{0} : std::min<std::uint8_t>(timeouts_, schedule_->count - 1);
  if (schedule_ != nullptr) timeout_ = schedule_->waits[timeouts_];
  is_endless_ = config.has_endless_retries && config.retry_count == kForever;
  retries_left_ = left_of(config.retry_count, retries_used());
  retry_count_ = config.retry_count;
  rnr_retries_left_ = left_of(config.rnr_retry, rnr_retries_used());
  rnr_retry_ = config.rnr_retry;
}

void Retry::stop() {
  waits_since_ = kNever;
  receiver_ready_at_ = kNever;
}

void Retry::on_sent(Time now) {
  is_refused_ = false;
  if (waits_since_ == kNever) waits_since_ = now;
}

void Retry::on_progress(Time now, bool more_in_flight) {
  retries_left_ = retry_count_;
  rnr_retries_left_ = rnr_retry_;
  begin_schedule();
  waits_since_ = kNever;
  is_refused_ = false;
  // While the receiver is given time, its timer rules alone (fact 34).
  if (more_in_flight && !is_waiting_for_receiver()) on_sent(now);
}

bool Retry::try_again() {
  if (retries_left_ == 0) return false;
  if (!is_endless_) --retries_left_;
  ++retries_;
  wait_from_next_sent();
  return true;
}

bool Retry::try_again_after_timeout() {
  if (schedule_ == nullptr) return try_again();
  if (timeouts_ + 1 == schedule_->count) return false;
  timeout_ = schedule_->waits[++timeouts_];
  ++retries_;
  wait_from_next_sent();
  return true;
}

bool Retry::wait_on(Time now) {
  const bool is_silent =
      schedule_ != nullptr && timeouts_ >= schedule_->sending && timeouts_ + 1 < schedule_->count;
  if (!is_silent) return false;
  timeout_ = schedule_->waits[++timeouts_];
  restart(now);
  return true;
}

bool Retry::try_again_after_rnr(std::uint8_t timer_code, Time now) {
  if (rnr_retries_left_ == 0) return false;
  if (rnr_retry_ != kForever) --rnr_retries_left_;
  ++rnr_waits_;
  is_refused_ = true;
  // The receiver's timer rules alone: the acknowledgement timer would cut it short (fact 34).
  waits_since_ = kNever;
  receiver_ready_at_ = now + rnr_timer(timer_code);
  prolongable_until_ = receiver_ready_at_;
  return true;
}

void Retry::on_refused_again(std::uint8_t timer_code, Time now) {
  if (!is_waiting_for_receiver() || now >= prolongable_until_) return;
  receiver_ready_at_ = std::max(receiver_ready_at_, now + rnr_timer(timer_code));
}

void Retry::end_receiver_wait(Time now) {
  if (now >= receiver_ready_at_) receiver_ready_at_ = kNever;
}

}  // namespace urnic::transport
