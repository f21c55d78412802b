// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fixed: one rate, whatever the network says.
#pragma once

#include <array>
#include <cstdint>

#include "transport/congestion/controller.h"
#include "transport/congestion/parameter.h"
#include "transport/congestion/rate.h"
#include "transport/time.h"

namespace urnic::transport::congestion {

struct FixedParameters {
  std::uint32_t rate = 1000;  ///< Mb/s
};

inline constexpr auto kFixedParameters = std::to_array<Parameter<FixedParameters>>({
    {"rate", &FixedParameters::rate, 1, 1'000'000},
});

class Fixed final : public Controller {
 public:
  explicit Fixed(const FixedParameters& parameters) : rate_(parameters.rate * kMegabit) {}

  void update(const Choice& choice, Time now) override;
  Allowance allowance(Time /*now*/) override { return {.rate = rate_}; }
  ControllerState state(Time now) override {
    return {.kind = ControllerKind::kFixed, .allowance = allowance(now)};
  }

 private:
  BitsPerSecond rate_;
};

}  // namespace urnic::transport::congestion
