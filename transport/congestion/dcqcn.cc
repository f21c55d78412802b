// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/congestion/dcqcn.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include "transport/congestion/choice.h"

namespace urnic::transport::congestion {
namespace {

/// Alpha is 1.
constexpr std::uint32_t kOne = 1u << 16;
/// Parameters about alpha are in units of 2^-10.
constexpr unsigned kParameterBits = 10;
constexpr std::uint32_t kParameterOne = 1u << kParameterBits;
constexpr unsigned kBitsOfAlphaBeyondParameters = 6;
/// Where both are due, the check comes after the update of alpha (facts A2).
constexpr Duration kBehindAlpha{1};

Duration period(std::uint32_t us) {
  return std::chrono::microseconds(us);
}

BitsPerSecond cap_of(BitsPerSecond line_rate, const DcqcnParameters& parameters) {
  return parameters.rpg_max_rate == 0 ? line_rate : std::min(line_rate, parameters.rpg_max_rate * kMegabit);
}

/// The first tick after `now` of a timer whose ticks up to then do nothing.
Time first_behind(Time now, Time tick, Duration every) {
  return tick + every * ((now - tick) / every + 1);
}

}  // namespace

Dcqcn::Dcqcn(BitsPerSecond line_rate, const DcqcnParameters& parameters)
    : parameters_(parameters), cap_(cap_of(line_rate, parameters)), rate_(cap_), target_(cap_) {}

void Dcqcn::on_send(std::uint32_t bytes, Time now) {
  catch_up(now);
  if (!counts_bytes() || increase_at_ == kNever) return;
  bytes_ += bytes;
  while (bytes_ >= parameters_.rpg_byte_reset) {
    bytes_ -= parameters_.rpg_byte_reset;
    increase(byte_stage_);
  }
}

bool Dcqcn::on_cnp(Time now) {
  catch_up(now);
  if (alpha_at_ == kNever) {
    begin(now);
  } else {
    has_cnp_for_alpha_ = true;
  }
  has_cnp_for_cut_ = true;
  return true;
}

void Dcqcn::update(const Choice& choice, Time now) {
  const auto* const parameters = std::get_if<DcqcnParameters>(&choice.parameters);
  if (parameters == nullptr) return;
  catch_up(now);
  parameters_ = *parameters;
  cap_ = cap_of(choice.line_rate, parameters_);
  const bool has_begun = alpha_at_ != kNever;
  const BitsPerSecond least = has_begun ? std::min(cap_, parameters_.rpg_min_rate * kMegabit) : cap_;
  rate_ = std::clamp(rate_, least, cap_);
  target_ = std::clamp(target_, least, cap_);
  // A counter that is switched on begins at 0, and one that may count less has no steps to catch up with.
  bytes_ = counts_bytes() ? bytes_ % parameters_.rpg_byte_reset : 0;
}

Allowance Dcqcn::allowance(Time now) {
  catch_up(now);
  return {.rate = rate_};
}

ControllerState Dcqcn::state(Time now) {
  catch_up(now);
  return {.kind = ControllerKind::kDcqcn,
          .allowance = {.rate = rate_},
          .target_rate = target_,
          .alpha_ppm = static_cast<std::uint32_t>(alpha_ * std::uint64_t{1'000'000} / kOne)};
}

void Dcqcn::begin(Time now) {
  alpha_ = parameters_.initial_alpha_value << kBitsOfAlphaBeyondParameters;
  if (parameters_.rate_to_set_on_first_cnp != 0) {
    rate_ = std::min(cap_, parameters_.rate_to_set_on_first_cnp * kMegabit);
    target_ = rate_;
  }
  alpha_at_ = now + period(parameters_.dce_tcp_rtt);
  check_at_ = now + period(parameters_.rate_reduce_monitor_period) + kBehindAlpha;
}

/// In the order of time; at the same time alpha comes first and the check last, as in HPCC's simulation.
/// Ticks that do nothing are passed over: queue pairs are silent for seconds, and alpha ticks every
/// microsecond.
void Dcqcn::catch_up(Time now) {
  while (true) {
    const Time next = std::min({alpha_at_, check_at_, increase_at_});
    if (next > now || next == kNever) return;
    if (next == alpha_at_) {
      update_alpha();
      const Duration every = period(parameters_.dce_tcp_rtt);
      alpha_at_ = alpha_ == 0 ? first_behind(now, next, every) : next + every;
    } else if (next == increase_at_) {
      on_increase_timer(now);
    } else {
      check_for_cut(next);
      check_at_ = first_behind(now, next, period(parameters_.rate_reduce_monitor_period));
    }
  }
}

void Dcqcn::update_alpha() {
  alpha_ = (alpha_ * parameters_.dce_tcp_g) >> kParameterBits;
  if (!has_cnp_for_alpha_) return;
  alpha_ += (kParameterOne - parameters_.dce_tcp_g) << kBitsOfAlphaBeyondParameters;
  has_cnp_for_alpha_ = false;
}

void Dcqcn::check_for_cut(Time at) {
  if (!has_cnp_for_cut_) return;
  has_cnp_for_cut_ = false;
  cut(at);
}

void Dcqcn::cut(Time at) {
  const bool clamps =
      parameters_.clamp_tgt_rate != 0 || (parameters_.clamp_tgt_rate_after_time_inc != 0 && stage_ != 0);
  if (clamps) target_ = rate_;
  const BitsPerSecond by = (rate_ * alpha_) >> (parameters_.rpg_gd + kBitsOfAlphaBeyondParameters);
  const BitsPerSecond least =
      std::max(rate_ * parameters_.rpg_min_dec_fac / 100, parameters_.rpg_min_rate * kMegabit);
  rate_ = std::min(cap_, std::max(rate_ - std::min(rate_, by), least));
  stage_ = 0;
  byte_stage_ = 0;
  bytes_ = 0;
  increase_at_ = at + period(parameters_.rpg_time_reset);
}

void Dcqcn::on_increase_timer(Time now) {
  const Duration every = period(parameters_.rpg_time_reset);
  const Time tick = increase_at_;
  const BitsPerSecond rate = rate_;
  const BitsPerSecond target = target_;
  increase(stage_);
  increase_at_ = tick + every;
  // From here on steps differ in nothing but their number.
  const bool is_settled = rate == rate_ && target == target_ && stage_ > parameters_.rpg_threshold;
  if (!is_settled || increase_at_ > now) return;
  increase_at_ = first_behind(now, tick, every);
  stage_ += static_cast<std::uint64_t>((increase_at_ - tick) / every - 1);
}

/// Fast recovery goes back half the way to the target, additive and hyper increase raise the target besides.
BitsPerSecond Dcqcn::step(std::uint64_t own_stage) const {
  const std::uint64_t threshold = parameters_.rpg_threshold;
  if (!counts_bytes()) {
    if (own_stage < threshold) return 0;
    return (own_stage == threshold ? parameters_.rpg_ai_rate : parameters_.rpg_hai_rate) * kMegabit;
  }
  const auto [least, most] = std::minmax(stage_, byte_stage_);
  if (most < threshold) return 0;
  return (least < threshold ? parameters_.rpg_ai_rate : parameters_.rpg_hai_rate) * kMegabit;
}

void Dcqcn::increase(std::uint64_t& own_stage) {
  target_ = std::min(cap_, target_ + step(own_stage));
  rate_ = (rate_ + target_) / 2;
  ++own_stage;
}

}  // namespace urnic::transport::congestion
