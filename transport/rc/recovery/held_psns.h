// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HeldPsns: which packets a responder holds that came before one with a lower PSN.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/types.h"

namespace urnic::transport {

/// Which of the 256 PSNs after the expected one are held. The responder keeps them for its packets, the
/// requester for what a selective NAK told it. See SELECTIVE_REPEAT.md.
class HeldPsns {
 public:
  static constexpr std::uint32_t kReach = 256;
  static constexpr std::uint32_t kBitmapBytes = kReach / 8;
  using Bitmap = std::span<const std::byte, kBitmapBytes>;

  /// Expects this one, and holds none.
  void start(Psn expected) {
    expected_ = last_ = expected;
    held_.reset();
  }
  /// Expects this one, which is not before the one until now; those before it are forgotten. It may be held
  /// itself: the requester may be told only that all before it was executed.
  void advance(Psn expected) {
    held_ >>= distance_to(expected);
    expected_ = expected;
    if (held_.none()) last_ = expected;
  }
  Psn expected() const { return expected_; }

  /// Whether `psn` is one of the 256 after the expected one.
  bool reaches(Psn psn) const { return distance_to(psn) - 1 < kReach; }
  bool contains(Psn psn) const { return distance_to(psn) <= kReach && held_[distance_to(psn)]; }
  /// Only of a PSN that it reaches().
  void insert(Psn psn) {
    held_.set(distance_to(psn));
    if (distance_to(psn) > distance_to(last_)) last_ = psn;
  }
  void erase_expected() { held_.reset(0); }

  bool is_empty() const { return held_.none(); }
  /// How many are before `psn`.
  std::uint32_t size_before(Psn psn) const;
  /// The one furthest ahead; expected() when none is held.
  Psn last() const { return last_; }

  /// In the form that a selective NAK carries.
  void write(std::span<std::byte, kBitmapBytes> bitmap) const;
  /// Adds the PSNs in the bitmap of a NAK that has this expected() PSN.
  void merge(Bitmap bitmap);

 private:
  std::uint32_t distance_to(Psn psn) const { return (psn.value() - expected_.value()) & Psn::kMask; }

  Psn expected_;
  Psn last_;
  std::bitset<kReach + 1> held_;  // bit i: expected_ + i
};

}  // namespace urnic::transport
