// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Random numbers and hashes of the model: the same on every platform.
#pragma once

#include <cstdint>

namespace urnic::network {

/// Spreads every bit of `value` over all bits of the result (the finalizer of SplitMix64). Not for anything
/// hostile.
constexpr std::uint64_t spread(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// SplitMix64: small enough that each switch has one of its own, so that what one draws leaves the others
/// alone.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() { return spread(state_ += 0x9e3779b97f4a7c15u); }
  constexpr bool chance(double probability) {
    return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace urnic::network
