// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fast hashes of bytes, for comparing and for the trace. Not for anything hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace urnic::sim {

inline std::uint64_t combine(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25u;
  return hash ^ (hash >> 32);
}

inline std::uint64_t fingerprint(std::span<const std::byte> bytes, std::uint64_t hash = 0) {
  hash = combine(hash, bytes.size() + 0x9e3779b97f4a7c15u);
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = combine(hash, word);
  }
  if (at < bytes.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, bytes.size() - at);
    hash = combine(hash, word);
  }
  return hash;
}

}  // namespace urnic::sim
