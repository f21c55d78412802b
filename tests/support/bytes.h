// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Bytes with contents that betray where they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace urnic::transport::test {

using Bytes = std::vector<std::byte>;

/// The byte that stands at `address` of memory that was not written yet. Neighbors differ, and so do bytes
/// that are a path MTU apart, so that data copied to or from the wrong place does not compare equal.
constexpr std::byte pattern_at(std::uint64_t address) {
  return static_cast<std::byte>(address * 7 + (address >> 8) * 29 + (address >> 16) * 101);
}

/// `size` bytes of untouched memory from `address` on.
inline Bytes pattern(std::uint64_t address, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern_at(address + i);
  return bytes;
}

/// `size` bytes as a peer's message might carry; different from any memory pattern of the tests, and for each
/// `seed`.
inline Bytes payload(std::size_t size, std::uint8_t seed = 0) {
  Bytes bytes = pattern(0x5a0000, size);
  for (std::byte& byte : bytes) byte ^= static_cast<std::byte>(0x80 + seed);
  return bytes;
}

/// Bytes [from, from + size) of `whole`.
inline Bytes slice(const Bytes& whole, std::size_t from, std::size_t size) {
  const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

/// One after the other.
inline Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace urnic::transport::test
