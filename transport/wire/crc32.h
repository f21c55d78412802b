// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CRC-32 as Ethernet, zlib and the ICRC have it, by a library that chooses by what the processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::transport::wire {

/// CRC-32 (reflected polynomial 0xEDB88320, initial value all ones, inverted at the end) of some bytes
/// followed by `bytes`; `crc` is the CRC-32 of the bytes before. The CRC-32 of nothing is 0.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace urnic::transport::wire
