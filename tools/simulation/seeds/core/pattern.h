// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Patterns: recognisable bytes, so that data at the wrong place or of the wrong message never looks right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace urnic::sim {

/// Names one endless sequence of bytes; each message and each write of an application has its own.
enum class Pattern : std::uint64_t {};

namespace detail {

inline std::uint64_t pattern_word(Pattern pattern, std::uint64_t word) {
  std::uint64_t x =
      (static_cast<std::uint64_t>(pattern) * 0x9e3779b97f4a7c15u + word + 1) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 29);
}

/// Calls piece(bytes of the pattern, place in the span) for stretches that lie in one word.
template <typename Piece>
void for_each_word(std::size_t size, Pattern pattern, std::uint64_t position, Piece piece) {
  std::size_t at = 0;
  while (at < size) {
    const std::uint64_t word = pattern_word(pattern, (position + at) / 8);
    const std::size_t skip = (position + at) % 8;
    const std::size_t count = 8 - skip < size - at ? 8 - skip : size - at;
    std::byte bytes[8];
    std::memcpy(bytes, &word, 8);
    if (!piece(bytes + skip, at, count)) return;
    at += count;
  }
}

}  // namespace detail

/// Writes the bytes of `pattern` from `position` on.
inline void fill(std::span<std::byte> to, Pattern pattern, std::uint64_t position = 0) {
  detail::for_each_word(to.size(), pattern, position,
                        [&](const std::byte* bytes, std::size_t at, std::size_t count) {
                          std::memcpy(&to[at], bytes, count);
                          return true;
                        });
}

/// The offset of the first byte that is not as fill() makes it; bytes.size() when all are.
inline std::size_t first_mismatch(std::span<const std::byte> bytes, Pattern pattern,
                                  std::uint64_t position = 0) {
  std::size_t result = bytes.size();
  detail::for_each_word(bytes.size(), pattern, position,
                        [&](const std::byte* expected, std::size_t at, std::size_t count) {
                          if (std::memcmp(&bytes[at], expected, count) == 0) return true;
                          while (bytes[at] == *expected) {
                            ++at;
                            ++expected;
                          }
                          result = at;
                          return false;
                        });
  return result;
}

}  // namespace urnic::sim
