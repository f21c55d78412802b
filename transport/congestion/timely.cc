// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/congestion/timely.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "transport/congestion/choice.h"

namespace urnic::transport::congestion {
namespace {

constexpr double kMegabitAsDouble = static_cast<double>(kMegabit);
/// One decrease by the trend leaves at least half of the rate.
constexpr double kMostDecrease = 0.5;

double nanoseconds(std::uint32_t us) {
  return 1000.0 * us;
}

}  // namespace

Timely::Timely(BitsPerSecond line_rate, const TimelyParameters& parameters)
    : parameters_(parameters), line_rate_(static_cast<double>(line_rate)), rate_(line_rate_) {}

void Timely::on_ack(Duration round_trip, Time /*now*/) {
  const std::optional<Duration> previous = std::exchange(previous_, round_trip);
  if (!previous) return;
  const double ewma = parameters_.ewma / 1000.0;
  const auto newest = static_cast<double>((round_trip - *previous).count());
  difference_ = (1 - ewma) * difference_ + ewma * newest;
  const double gradient = difference_ / nanoseconds(parameters_.min_rtt);
  rate_ = limited(changed_rate(round_trip, gradient));
}

void Timely::update(const Choice& choice, Time /*now*/) {
  const auto* const parameters = std::get_if<TimelyParameters>(&choice.parameters);
  if (parameters == nullptr) return;
  parameters_ = *parameters;
  line_rate_ = static_cast<double>(choice.line_rate);
  rate_ = limited(rate_);
}

double Timely::limited(double rate) const {
  const double least = std::min(parameters_.min_rate * kMegabitAsDouble, line_rate_);
  return std::clamp(rate, least, line_rate_);
}

double Timely::changed_rate(Duration round_trip, double gradient) {
  const auto rtt = static_cast<double>(round_trip.count());
  const double beta = parameters_.beta / 100.0;
  const double add = parameters_.add_rate * kMegabitAsDouble;
  const bool is_short = rtt < nanoseconds(parameters_.t_low);
  const bool is_long = !is_short && rtt > nanoseconds(parameters_.t_high);
  const bool rises = !is_short && !is_long && gradient <= 0;
  increases_ = rises ? increases_ + 1 : 0;
  if (is_short) return rate_ + add;
  if (is_long) return rate_ * (1 - beta * (1 - nanoseconds(parameters_.t_high) / rtt));
  if (!rises) return rate_ * std::max(kMostDecrease, 1 - beta * gradient);
  const std::uint32_t steps = increases_ >= parameters_.hai_threshold ? parameters_.hai_threshold : 1;
  return rate_ + add * steps;
}

Allowance Timely::allowance(Time /*now*/) {
  return {.rate = static_cast<BitsPerSecond>(rate_)};
}

ControllerState Timely::state(Time now) {
  return {.kind = ControllerKind::kTimely, .allowance = allowance(now)};
}

}  // namespace urnic::transport::congestion
