// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether a frame is marked, by how much waits before it.
#pragma once

#include <cstdint>

#include "drivers/network/random.h"
#include "drivers/network/topology.h"

namespace urnic::network {

/// 0 up to Kmin, 1 above Kmax, and between them Pmax (waiting - Kmin) / (Kmax - Kmin): fact A3.
/// `waiting_bytes` is what the frame finds in the queue, without itself.
constexpr double marking_probability(const Marking& marking, std::uint64_t waiting_bytes) {
  if (waiting_bytes <= marking.kmin_bytes) return 0;
  if (waiting_bytes > marking.kmax_bytes) return 1;
  return marking.pmax * static_cast<double>(waiting_bytes - marking.kmin_bytes) /
         static_cast<double>(marking.kmax_bytes - marking.kmin_bytes);
}

/// Draws only where the answer is not certain.
constexpr bool is_to_be_marked(const Marking& marking, std::uint64_t waiting_bytes, Random& random) {
  if (waiting_bytes <= marking.kmin_bytes) return false;
  if (waiting_bytes > marking.kmax_bytes) return true;
  return random.chance(marking_probability(marking, waiting_bytes));
}

}  // namespace urnic::network
