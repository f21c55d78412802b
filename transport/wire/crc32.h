// CRC-32 as Ethernet, zlib and the ICRC have it, by a library that chooses by what the processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::transport::wire {

/// CRC-32 (reflected polynomial 0xEDB88320, initial value all ones, inverted at the end) of what `crc` is the CRC of,
/// and `bytes` behind it. 0 is that of nothing.
std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace urnic::transport::wire
