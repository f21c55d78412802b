// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AdversarySettings: what the user wants of the adversary, as a value.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

#include "nic/adversary/behavior.h"

namespace urnic::nic {

using Behaviors = std::bitset<kBehaviorCount>;

struct AdversarySettings {
  std::uint64_t seed = 1;
  Behaviors behaviors{};   ///< that it has
  double scale = 1;        ///< of all pauses
  std::string log_file{};  ///< where the last unusual acts are kept, as text; empty: in memory
};

/// The behaviors that a seed has where the user names none: about half of the usual ones, so that each is
/// seen without the others as well.
Behaviors behaviors_of(std::uint64_t seed);

}  // namespace urnic::nic
