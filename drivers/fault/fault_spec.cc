// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/fault_spec.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "drivers/fault/exact_faults.h"
#include "drivers/fault/words.h"

namespace urnic::drivers {
namespace {

struct Probability {
  std::string_view key;
  double FaultSpec::*value;
};

constexpr std::array kProbabilities = {
    Probability{"loss", &FaultSpec::loss},         Probability{"dup", &FaultSpec::duplicate},
    Probability{"reorder", &FaultSpec::reorder},   Probability{"corrupt", &FaultSpec::corrupt},
    Probability{"truncate", &FaultSpec::truncate},
};

struct DirectionName {
  std::string_view name;
  FaultSpec::Direction value;
};

constexpr std::array kDirections = {
    DirectionName{"tx", FaultSpec::Direction::kTransmit},
    DirectionName{"rx", FaultSpec::Direction::kReceive},
    DirectionName{"both", FaultSpec::Direction::kBoth},
};

constexpr std::string_view kKeys =
    "loss=P, dup=P, reorder=P, corrupt=P, truncate=P (probabilities), gap=FRAMES, seed=N, "
    "direction=tx|rx|both, and faults of certain packets such as drop:psn=7";

/// One "key=value" into `spec`.
Result<void, Error> apply(FaultSpec& spec, std::string_view key, std::string_view value) {
  for (const Probability& probability : kProbabilities) {
    if (key != probability.key) continue;
    double& number = spec.*probability.value;
    if (!read_number(value, number) || !(number >= 0 && number <= 1)) {
      return bad_fault("fault '{}': a probability is a number from 0 to 1, not '{}'", key, value);
    }
    return success();
  }
  if (key == "gap") {
    if (!read_number(value, spec.gap) || spec.gap < 1 || spec.gap > FaultSpec::kMaxGap) {
      return bad_fault("fault 'gap': a number of frames from 1 to {}, not '{}'", FaultSpec::kMaxGap, value);
    }
    return success();
  }
  if (key == "seed") {
    if (!read_number(value, spec.seed)) {
      return bad_fault("fault 'seed': a number from 0 to 2^64 - 1, not '{}'", value);
    }
    return success();
  }
  if (key == "direction") {
    for (const DirectionName& direction : kDirections) {
      if (value == direction.name) {
        spec.direction = direction.value;
        return success();
      }
    }
    return bad_fault("fault 'direction': tx, rx or both, not '{}'", value);
  }
  return bad_fault("there is no fault called '{}'; there are {}", key, kKeys);
}

}  // namespace

Result<FaultSpec, Error> FaultSpec::parse(std::string_view text) {
  FaultSpec spec;
  std::string seen = ",";
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    at = comma + 1;

    if (ExactFault::is_one(item)) {
      auto fault = ExactFault::parse(item);
      if (!fault) return fault.error();
      if (spec.exact.size() == ExactFaults::kMaxFaults) {
        return bad_fault("there are more than {} faults of certain packets", ExactFaults::kMaxFaults);
      }
      spec.exact.push_back(std::move(fault.value()));
      continue;
    }

    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return bad_fault("fault '{}' is not of the form KEY=VALUE; there are {}", item, kKeys);
    }
    const std::string_view key = item.substr(0, equals);
    const std::string mark = fmt::format(",{},", key);
    if (seen.find(mark) != std::string::npos) return bad_fault("fault '{}' is given twice", key);
    seen += mark;
    if (const auto applied = apply(spec, key, item.substr(equals + 1)); !applied) return applied.error();
  }
  return spec;
}

std::string FaultSpec::to_string() const {
  std::string text;
  for (const Probability& probability : kProbabilities) {
    if (this->*probability.value != 0) {
      text += fmt::format("{}={},", probability.key, this->*probability.value);
    }
  }
  if (gap != FaultSpec{}.gap) text += fmt::format("gap={},", gap);
  for (const DirectionName& name : kDirections) {
    if (direction == name.value && direction != FaultSpec{}.direction) {
      text += fmt::format("direction={},", name.name);
    }
  }
  text += fmt::format("seed={}", seed);
  for (const ExactFault& fault : exact) text += fmt::format(",{}", fault.text);
  return text;
}

}  // namespace urnic::drivers
