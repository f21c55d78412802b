// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CRC-32 from its polynomial, to compare what is faster with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::test {

/// One bit at a time.
inline std::uint32_t bitwise_crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

}  // namespace urnic::test
