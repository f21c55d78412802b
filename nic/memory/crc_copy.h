// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Copies out of the program's memory that work out the CRC of what they copy, in the same pass.
//
// A library would read again what a copy has just written, often to memory that another processor watches.
// And the program may change its memory at any moment: a CRC of anything but the bytes that were copied is
// wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::nic {

/// As try_copy() of fault_guard.h, for kLeastCrcCopy bytes or more; and `crc`, a CRC-32
/// (transport/wire/crc32.h), goes on over them. False where not every page can be read, or written; then a
/// part may have been copied, and `crc` is what it was.
using CrcCopy = bool (*)(std::byte* to, const std::byte* from, std::size_t size, std::uint32_t& crc);

inline constexpr std::size_t kLeastCrcCopy = 256;

struct NamedCrcCopy {
  const char* name;
  CrcCopy copy;
};

/// Those that this processor can run, the fastest first: none without PCLMULQDQ, and none but on x86-64. With
/// sanitizers there is one, which copies first and works out the CRC then.
std::span<const NamedCrcCopy> crc_copies();

/// The first of them, or null.
extern const CrcCopy best_crc_copy;

}  // namespace urnic::nic
