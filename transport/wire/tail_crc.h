// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The CRC-32 of a packet's end, which the writer of that end worked out, and how to get the whole packet's
// CRC-32 from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::transport::wire {

/// The CRC-32 (crc32.h) of the last `bytes` bytes of a packet; 0 bytes where nothing is known. A function
/// that copies a payload and works out its CRC in the same pass returns both here, and the ICRC does not read
/// those bytes again.
class TailCrc {
 public:
  constexpr TailCrc() = default;
  constexpr TailCrc(std::uint32_t bytes, std::uint32_t crc) : word_(std::uint64_t{bytes} << 32 | crc) {}

  constexpr std::uint32_t bytes() const { return static_cast<std::uint32_t>(word_ >> 32); }
  constexpr std::uint32_t crc() const { return static_cast<std::uint32_t>(word_); }

 private:
  // One word, because it is written right after a payload and then read: a load that spans two stores would
  // wait until all stores before them, the payload's, have left the processor's store buffer.
  std::uint64_t word_ = 0;
};

/// The most that a tail may have: the payload of the largest path MTU, and padding.
inline constexpr std::size_t kMostTailBytes = 4096 + 3;

/// Adds these bytes to the end of the tail. Reads them.
void extend(TailCrc& tail, std::span<const std::byte> bytes);

/// Fills the padding after a payload with zeros, and extends the tail by them if there is one.
void write_padding(std::span<std::byte> padding, TailCrc& tail);

/// CRC-32 of some bytes, of which `crc` is the CRC-32, followed by the tail. Reads none of them: a CRC is
/// linear over GF(2), so what stands in front of n bytes is multiplied by x^8n.
std::uint32_t join(std::uint32_t crc, const TailCrc& tail);

}  // namespace urnic::transport::wire
