// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Bytes that both sides can work out and neither would send by mistake. */
#ifndef TESTS_CLIENTS_PATTERN_H
#define TESTS_CLIENTS_PATTERN_H

#include <stdint.h>
#include <string.h>

static inline uint64_t pattern_mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/* The next of a sequence of numbers that look random; `state` is where it is. */
static inline uint64_t pattern_draw(uint64_t* state) {
  return pattern_mix(*state += 0x9e3779b97f4a7c15u);
}

/* Fills `bytes` bytes, and what is missing to a multiple of 8. */
static inline void pattern_fill(uint64_t* words, uint32_t bytes, uint64_t seed) {
  for (uint32_t i = 0; i < (bytes + 7) / 8; i++) words[i] = pattern_mix(seed + i);
}

/* Where the first wrong word is, in bytes; `bytes` when there is none. */
static inline uint32_t pattern_difference(const uint64_t* words, uint32_t bytes, uint64_t seed) {
  for (uint32_t i = 0; i < (bytes + 7) / 8; i++) {
    const uint64_t expected = pattern_mix(seed + i);
    const uint32_t left = bytes - i * 8;
    if (memcmp(&words[i], &expected, left < 8 ? left : 8) != 0) return i * 8;
  }
  return bytes;
}

#endif
