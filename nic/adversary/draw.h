// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the adversary draws: a function of the seed and of what it is drawn for, and of nothing else.
#pragma once

#include <cstdint>

#include "nic/adversary/behavior.h"

namespace urnic::nic {

/// Spreads every bit of `number` over all bits (the finalizer of SplitMix64).
constexpr std::uint64_t spread(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

/// A random number for the `ordinal`-th thing that happens to the `object`-th object of its kind. So what is
/// drawn does not depend on the order in which threads run.
constexpr std::uint64_t draw(std::uint64_t seed, Behavior behavior, std::uint64_t object,
                             std::uint64_t ordinal) {
  const std::uint64_t of_behavior = spread(seed ^ spread(static_cast<std::uint64_t>(behavior)));
  return spread(spread(of_behavior + object) + ordinal);
}

}  // namespace urnic::nic
