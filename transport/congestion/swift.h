// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Swift: keeps round trips near a target by the window, the target longer where the window is small.
#pragma once

#include <array>
#include <cstdint>

#include "transport/congestion/controller.h"
#include "transport/congestion/parameter.h"
#include "transport/congestion/rate.h"
#include "transport/time.h"

namespace urnic::transport::congestion {

/// The constants come from UCCL (A4 of the congestion facts). Two differ: the additive step is in bytes there
/// and a share of a packet here, and times here fit programs on shared cores.
struct SwiftParameters {
  std::uint32_t base_delay = 500;      ///< us, target for large windows
  std::uint32_t fs_range = 2500;       ///< us, by how much it is longer for the smallest
  std::uint32_t fs_min_cwnd = 32;      ///< packets: the target is longest for less
  std::uint32_t fs_max_cwnd = 100;     ///< packets, more than fs_min_cwnd: it is shortest for more
  std::uint32_t ai = 100;              ///< percent of a packet by which the window grows with each round trip
  std::uint32_t beta = 80;             ///< percent, of the multiplicative decrease
  std::uint32_t max_mdf = 50;          ///< percent of the window that one decrease takes at most
  std::uint32_t min_window = 64;       ///< bytes; less than a packet slows down by pacing
  std::uint32_t max_window = 1 << 20;  ///< bytes
};

inline constexpr auto kSwiftParameters = std::to_array<Parameter<SwiftParameters>>({
    {"base_delay", &SwiftParameters::base_delay, 1, 10'000'000},
    {"fs_range", &SwiftParameters::fs_range, 0, 10'000'000},
    {"fs_min_cwnd", &SwiftParameters::fs_min_cwnd, 1, 1'000'000},
    {"fs_max_cwnd", &SwiftParameters::fs_max_cwnd, 1, 1'000'000},
    {"ai", &SwiftParameters::ai, 1, 100'000},
    {"beta", &SwiftParameters::beta, 0, 100},
    {"max_mdf", &SwiftParameters::max_mdf, 0, 99},
    {"min_window", &SwiftParameters::min_window, 1, 1 << 30},
    {"max_window", &SwiftParameters::max_window, 1, 1 << 30},
});

/// The variant with one delay: the whole round trip; hops are not counted. At most one decrease in a round
/// trip.
class Swift final : public Controller {
 public:
  /// A packet has at most `packet_bytes`, not 0. The larger of two limits is not the smaller one.
  Swift(std::uint32_t packet_bytes, const SwiftParameters& parameters);

  void on_ack(Duration round_trip, Time now) override;
  void on_nak(Time now) override { lose(now); }
  void on_timeout(Time now) override { lose(now); }
  void update(const Choice& choice, Time now) override;
  Allowance allowance(Time now) override;
  ControllerState state(Time now) override;

  double window() const { return window_; }  ///< bytes

 private:
  double target() const;
  bool may_decrease(Time now) const { return now - last_decrease_ >= round_trip_; }
  void lose(Time now);
  void scale(double factor, Time now);
  void limit();

  SwiftParameters parameters_;
  double packet_bytes_;
  double window_;  // bytes
  Duration round_trip_;
  Time last_decrease_{};
};

}  // namespace urnic::transport::congestion
