// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ExactFaults: which of the exact faults a frame suffers, and the changes of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "drivers/fault/exact_fault.h"
#include "drivers/fault/packet_history.h"
#include "nic/port/medium.h"
#include "transport/wire/frame.h"

namespace urnic::drivers {

/// Sees all frames of a line, both ways, in their order. Frames that are not RoCEv2 suffer nothing. What
/// happens depends on the frames and the seed alone. Nothing allocates after construction.
class ExactFaults {
 public:
  /// More than a person writes by hand; FaultSpec::parse() refuses more.
  static constexpr std::size_t kMaxFaults = 64;

  ExactFaults(const std::vector<ExactFault>& faults, std::uint64_t seed, nic::Medium medium);

  bool is_empty() const { return lines_.empty(); }

  struct Fate {
    bool is_lost = false;         ///< then nothing else happens
    bool is_duplicated = false;   ///< a copy follows at once
    std::uint32_t behind = 0;     ///< how many later frames go first
    transport::Duration delay{};  ///< how much later it goes
    std::uint64_t changes = 0;    ///< by bit, the faults that change its bytes: for change()

    bool is_hit() const {
      return is_lost || is_duplicated || behind > 0 || delay != transport::Duration{} || changes != 0;
    }
  };

  /// What happens to the next frame.
  Fate judge(Way way, std::span<const std::byte> frame);
  /// Changes the bytes of that frame, or of a copy of it, as its fate says.
  void change(const Fate& fate, std::span<std::byte> frame);

  /// For people: a line for each fault, which packet it hit first and how many, or that it hit none; and one
  /// more when the history was full.
  std::vector<std::string> report() const;

 private:
  struct Hit {
    RocePacket packet{};
    std::uint64_t number = 0;  ///< of the RoCEv2 packets of its way, from 1
  };
  struct Line {
    ExactFault fault{};
    std::uint64_t fitting = 0;
    std::uint64_t hits = 0;
    std::optional<Hit> first_hit{};
  };

  std::optional<RocePacket> look(Way way, std::span<const std::byte> frame);
  bool strikes(Line& line, const RocePacket& packet);
  void corrupt(const ExactFault& fault, std::span<std::byte> packet);
  std::string describe(const Line& line) const;

  std::vector<Line> lines_;
  std::mt19937_64 random_;
  nic::Medium medium_;
  PacketHistory history_;
  std::uint64_t packets_[2] = {};  // by way
};

}  // namespace urnic::drivers
