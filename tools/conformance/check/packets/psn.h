// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packet sequence numbers as a capture shows them.
#pragma once

#include <cstdint>

namespace urnic::check {

/// A 24-bit sequence number. It has a distance and no order: which of two is the later one depends on where
/// the connection is (fact 39).
class Psn {
 public:
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}

  constexpr std::uint32_t value() const { return value_; }
  friend constexpr bool operator==(Psn, Psn) = default;
  friend constexpr Psn operator+(Psn psn, std::int64_t steps) {
    return Psn(static_cast<std::uint32_t>(static_cast<std::int64_t>(psn.value_) + steps));
  }

 private:
  static constexpr std::uint32_t kMask = 0xffffff;
  std::uint32_t value_ = 0;
};

/// How many steps lead from `from` to `to` on the shorter way around: -2^23 to 2^23 - 1.
constexpr std::int32_t distance(Psn from, Psn to) {
  return static_cast<std::int32_t>((to.value() - from.value()) << 8) >> 8;
}

/// The same for message sequence numbers, which are 24 bits too.
constexpr std::int32_t msn_distance(std::uint32_t from, std::uint32_t to) {
  return distance(Psn(from), Psn(to));
}

}  // namespace urnic::check
