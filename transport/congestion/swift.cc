// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/congestion/swift.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <variant>

#include "transport/congestion/choice.h"

namespace urnic::transport::congestion {

Swift::Swift(std::uint32_t packet_bytes, const SwiftParameters& parameters)
    : parameters_(parameters),
      packet_bytes_(packet_bytes),
      window_(parameters.max_window),
      round_trip_(std::chrono::microseconds(parameters.base_delay)) {}

void Swift::on_ack(Duration round_trip, Time now) {
  constexpr auto kWeightOfOld = 7;  // of 8
  round_trip_ = (kWeightOfOld * round_trip_ + round_trip) / (kWeightOfOld + 1);
  const auto delay = static_cast<double>(round_trip.count());
  const double wanted = target();
  if (delay < wanted) {
    window_ += packet_bytes_ * parameters_.ai / 100.0;
    limit();
  } else if (may_decrease(now)) {
    const double beta = parameters_.beta / 100.0;
    scale(std::max(1 - beta * (delay - wanted) / delay, 1 - parameters_.max_mdf / 100.0), now);
  }
}

void Swift::update(const Choice& choice, Time /*now*/) {
  const auto* const parameters = std::get_if<SwiftParameters>(&choice.parameters);
  if (parameters == nullptr) return;
  parameters_ = *parameters;
  limit();
}

/// Nanoseconds. Grows by 1 / sqrt(window) from the one end of the range to the other, so that many flows that
/// share a link agree.
double Swift::target() const {
  const double base = 1000.0 * parameters_.base_delay;
  const double range = 1000.0 * parameters_.fs_range;
  const double most = 1 / std::sqrt(static_cast<double>(parameters_.fs_min_cwnd));
  const double least = 1 / std::sqrt(static_cast<double>(parameters_.fs_max_cwnd));
  const double here = 1 / std::sqrt(std::max(window_ / packet_bytes_, 1e-6));
  return base + range * std::clamp((here - least) / (most - least), 0.0, 1.0);
}

void Swift::lose(Time now) {
  if (may_decrease(now)) scale(1 - parameters_.max_mdf / 100.0, now);
}

void Swift::scale(double factor, Time now) {
  window_ *= factor;
  last_decrease_ = now;
  limit();
}

void Swift::limit() {
  window_ = std::clamp<double>(window_, parameters_.min_window, parameters_.max_window);
}

/// Less than a packet in flight is a packet that waits.
Allowance Swift::allowance(Time /*now*/) {
  if (window_ >= packet_bytes_) return {.window_bytes = static_cast<std::uint32_t>(window_)};
  const double seconds = std::chrono::duration<double>(round_trip_).count();
  const double rate = 8 * window_ / std::max(seconds, 1e-6);
  return {.rate = std::max(static_cast<BitsPerSecond>(rate), BitsPerSecond{1}),
          .window_bytes = static_cast<std::uint32_t>(packet_bytes_)};
}

ControllerState Swift::state(Time now) {
  return {.kind = ControllerKind::kSwift, .allowance = allowance(now)};
}

}  // namespace urnic::transport::congestion
