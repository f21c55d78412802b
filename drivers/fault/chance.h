// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether something happens that has a probability.
#pragma once

#include <random>

namespace urnic::drivers {

/// One throw, whatever the probability (0 to 1) is.
inline bool happens(double probability, std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53 < probability;
}

}  // namespace urnic::drivers
