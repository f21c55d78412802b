// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/congestion/choice.h"

#include "transport/congestion/dcqcn.h"

namespace urnic::transport::congestion {
namespace {

struct Maker {
  const Choice& choice;
  std::uint32_t packet_bytes;

  std::unique_ptr<Controller> operator()(std::monostate) const { return nullptr; }
  std::unique_ptr<Controller> operator()(const DcqcnParameters& parameters) const {
    return std::make_unique<Dcqcn>(choice.line_rate, parameters);
  }
  std::unique_ptr<Controller> operator()(const TimelyParameters& parameters) const {
    return std::make_unique<Timely>(choice.line_rate, parameters);
  }
  std::unique_ptr<Controller> operator()(const SwiftParameters& parameters) const {
    return std::make_unique<Swift>(packet_bytes, parameters);
  }
  std::unique_ptr<Controller> operator()(const FixedParameters& parameters) const {
    return std::make_unique<Fixed>(parameters);
  }
};

}  // namespace

void Fixed::update(const Choice& choice, Time /*now*/) {
  if (const auto* const parameters = std::get_if<FixedParameters>(&choice.parameters)) {
    rate_ = parameters->rate * kMegabit;
  }
}

std::unique_ptr<Controller> make_controller(const Choice& choice, std::uint32_t packet_bytes) {
  return std::visit(Maker{.choice = choice, .packet_bytes = packet_bytes}, choice.parameters);
}

}  // namespace urnic::transport::congestion
