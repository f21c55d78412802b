// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NumberShare: which numbers are a NIC's, where several share an address.
#pragma once

#include <cstdint>

namespace urnic::nic {

/// Peers see one device at an address. So the NICs that share an address share the device's numbers, too:
/// queue pairs and communication ids of a NIC have its own value in their highest bits.
struct NumberShare {
  /// Of NICs that share a host.
  static constexpr std::uint8_t kHostBits = 8;

  std::uint8_t bits =
      0;  ///< how many of the highest bits say whose a number is; 0: all numbers are this NIC's
  std::uint8_t value = 0;

  /// `number` of `width` bits as one of this share.
  constexpr std::uint32_t own(std::uint32_t number, unsigned width) const {
    if (bits == 0) return number;
    const unsigned rest = width - bits;
    return std::uint32_t{value} << rest | (number & ((std::uint32_t{1} << rest) - 1));
  }
};

}  // namespace urnic::nic
