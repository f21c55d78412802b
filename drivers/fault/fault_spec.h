// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FaultSpec: what the user wrote after --fault, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/fault/exact_fault.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Which frames suffer, how often and by what dice, and which packets suffer exactly. Written
/// "loss=0.01,dup=0.005,seed=7,drop:psn=7": keys in any order, each at most once, those left out keep their
/// defaults; any number of exact faults.
struct FaultSpec {
  enum class Direction : std::uint8_t { kTransmit, kReceive, kBoth };

  // Probabilities per frame, 0 to 1. A lost frame suffers nothing else; otherwise they are drawn
  // independently.
  double loss = 0;
  double duplicate = 0;  ///< key "dup": a copy follows at once
  double reorder = 0;    ///< held back until `gap` later frames have overtaken it
  double corrupt = 0;    ///< one bit, anywhere in the frame, is flipped
  double truncate = 0;   ///< cut somewhere after the Ethernet header

  std::uint32_t gap = 3;  ///< 1 to kMaxGap frames
  static constexpr std::uint32_t kMaxGap = 64;

  std::uint64_t seed = 1;  ///< the same seed gives the same fate to the n-th frame of a direction
  Direction direction = Direction::kBoth;  ///< of all that has a probability above

  std::vector<ExactFault> exact{};  ///< at most ExactFaults::kMaxFaults

  /// Parses what the user wrote. The error says what is wrong and what there is.
  static Result<FaultSpec, Error> parse(std::string_view text);
  /// The text that parse() takes; without what has its default, except the seed.
  std::string to_string() const;

  /// Whether the faults with probabilities are about frames sent, or received.
  bool afflicts_transmit() const { return direction != Direction::kReceive; }
  bool afflicts_receive() const { return direction != Direction::kTransmit; }
};

}  // namespace urnic::drivers
