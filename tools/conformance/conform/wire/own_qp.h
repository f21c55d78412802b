// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Numbers of the tester's queue pair. From the highest bit on: 8 bits say whose it is where NICs share an
// address, 4 which destination of a script it stands for, and 12 which case it is for.
#pragma once

#include <cstdint>

#include "nic/port/number_share.h"

namespace urnic::conform {

inline constexpr unsigned kCaseBits = 12;
/// Destinations are counted from 1 on; 0 is the queue pair itself.
inline constexpr std::uint32_t kMostDestinations = 15;

/// Each case has another queue pair, so that what comes late is no part of the next.
constexpr std::uint32_t own_qp(const nic::NumberShare& share, std::uint32_t number_of_case) {
  constexpr nic::NumberShare kAlone{.bits = nic::NumberShare::kHostBits, .value = 0x40};
  constexpr std::uint32_t kCases = 1u << kCaseBits;
  constexpr unsigned kQpNumberBits = 24;
  return (share.bits == 0 ? kAlone : share).own(number_of_case % kCases, kQpNumberBits);
}

/// The queue pair `qp` as that destination.
constexpr std::uint32_t as_destination(std::uint32_t qp, std::uint32_t place) {
  return qp | place << kCaseBits;
}
constexpr std::uint32_t place_in(std::uint32_t number) {
  return number >> kCaseBits & kMostDestinations;
}
constexpr std::uint32_t without_place(std::uint32_t number) {
  return number & ~(kMostDestinations << kCaseBits);
}

}  // namespace urnic::conform
