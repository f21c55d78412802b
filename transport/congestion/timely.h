// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Timely: slows down as round trips get longer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/congestion/controller.h"
#include "transport/congestion/parameter.h"
#include "transport/congestion/rate.h"
#include "transport/time.h"

namespace urnic::transport::congestion {

/// The defaults have longer times than the papers: round trips of programs on shared cores differ by tens to
/// hundreds of microseconds (A4 of the congestion facts).
struct TimelyParameters {
  std::uint32_t add_rate = 10;      ///< Mb/s, additive step
  std::uint32_t beta = 80;          ///< percent, of the multiplicative decrease
  std::uint32_t ewma = 875;         ///< of 1000: weight of the newest difference between round trips
  std::uint32_t t_low = 500;        ///< us; shorter round trips raise the rate whatever their trend
  std::uint32_t t_high = 5000;      ///< us; longer ones lower it
  std::uint32_t min_rtt = 200;      ///< us, the unit of the trend
  std::uint32_t hai_threshold = 5;  ///< increases in a row before steps get longer, by as many times
  std::uint32_t min_rate = 10;      ///< Mb/s
};

inline constexpr auto kTimelyParameters = std::to_array<Parameter<TimelyParameters>>({
    {"add_rate", &TimelyParameters::add_rate, 1, 1'000'000},
    {"beta", &TimelyParameters::beta, 0, 100},
    {"ewma", &TimelyParameters::ewma, 0, 1000},
    {"t_low", &TimelyParameters::t_low, 1, 10'000'000},
    {"t_high", &TimelyParameters::t_high, 1, 10'000'000},
    {"min_rtt", &TimelyParameters::min_rtt, 1, 10'000'000},
    {"hai_threshold", &TimelyParameters::hai_threshold, 1, 1000},
    {"min_rate", &TimelyParameters::min_rate, 1, 1'000'000},
});

/// The parameters of HPCC's simulation (A4).
inline constexpr TimelyParameters kTimelyOfHpcc = {
    .t_low = 50, .t_high = 500, .min_rtt = 20, .min_rate = 100};

/// TIMELY in the form of HPCC's simulation, in double precision (tests/congestion/README.md). Pays no
/// attention to CNPs.
class Timely final : public Controller {
 public:
  /// `line_rate` is not 0.
  Timely(BitsPerSecond line_rate, const TimelyParameters& parameters);

  void on_ack(Duration round_trip, Time now) override;
  void update(const Choice& choice, Time now) override;
  Allowance allowance(Time now) override;
  ControllerState state(Time now) override;

  double rate() const { return rate_; }  ///< bit/s

 private:
  double changed_rate(Duration round_trip, double gradient);
  double limited(double rate) const;

  TimelyParameters parameters_;
  double line_rate_;
  double rate_;
  std::optional<Duration> previous_;  // round trip
  double difference_ = 0;             // between round trips, smoothed, ns
  std::uint32_t increases_ = 0;       // in a row
};

}  // namespace urnic::transport::congestion
