// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LineFaults: what the faults of a FaultSpec do to each frame of a line, dice and exact faults together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/fault/exact_faults.h"
#include "drivers/fault/fault_dice.h"
#include "drivers/fault/fault_spec.h"
#include "nic/port/medium.h"
#include "transport/time.h"

namespace urnic::drivers {

/// What happens to one frame.
struct FrameFate {
  bool is_lost = false;                      ///< then nothing else happens
  bool is_duplicated = false;                ///< a copy follows at once
  std::uint32_t behind = 0;                  ///< held back until so many later frames have gone by
  transport::Duration delay{};               ///< held back for so long
  std::optional<std::size_t> length{};       ///< cut to so many bytes
  std::optional<std::size_t> flipped_bit{};  ///< inside its (new) length
  ExactFaults::Fate exact{};

  bool changes_bytes() const { return flipped_bit || exact.changes != 0; }
  bool is_held_back() const { return behind > 0 || delay != transport::Duration{}; }
};

/// Sees all frames of a line, both ways, in their order: what a NIC sends and receives, or what passes a
/// link. What happens depends on the frames and the seed alone. IP packets are hurt only after their UDP
/// header: if the headers before were hurt, the host would send the packet elsewhere. Exact faults know the
/// packets' bytes, and do what they say on either medium. Nothing allocates after construction.
class LineFaults {
 public:
  LineFaults(const FaultSpec& spec, nic::Medium medium);

  /// What happens to the next frame of this way. The dice are thrown for each frame, but spare one that an
  /// exact fault hits.
  FrameFate judge(Way way, std::span<const std::byte> frame);
  /// Changes the bytes of that frame, or of a copy of it, of its new length.
  void change(const FrameFate& fate, std::span<std::byte> frame);

  /// Whether anything can happen to frames of this way, or must be known of them.
  bool is_about(Way way) const;
  const FaultSpec& spec() const { return spec_; }
  /// ExactFaults::report().
  std::vector<std::string> report() const { return exact_.report(); }

 private:
  FaultDice::Fate throw_dice(Way way, std::span<const std::byte> frame);

  FaultSpec spec_;
  nic::Medium medium_;
  FaultDice dice_[2];  // by way
  ExactFaults exact_;
};

}  // namespace urnic::drivers
