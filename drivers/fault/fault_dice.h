// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FaultDice: what happens to each frame of one direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "drivers/fault/fault_spec.h"

namespace urnic::drivers {

class FaultDice {
 public:
  /// `seed` instead of spec.seed, so that directions can differ.
  FaultDice(const FaultSpec& spec, std::uint64_t seed) : spec_(spec), random_(seed) {}

  struct Fate {
    bool is_lost = false;  ///< then nothing else happens
    bool is_duplicated = false;
    bool is_reordered = false;
    std::optional<std::size_t> length{};       ///< cut to this many bytes
    std::optional<std::size_t> flipped_bit{};  ///< from the first bit of the frame, inside its (new) length
  };

  /// Each frame takes the same number of throws, whatever comes out: the n-th frame's fate depends on nothing
  /// but the seed and its size.
  Fate draw(std::size_t frame_bytes);

 private:
  FaultSpec spec_;
  std::mt19937_64 random_;
};

}  // namespace urnic::drivers
