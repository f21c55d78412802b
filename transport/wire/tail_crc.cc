// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/tail_crc.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "transport/wire/crc32.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace urnic::transport::wire {
namespace {

// Polynomials over GF(2) as the CRC has them: the highest bit belongs to x^0.
constexpr std::uint32_t kOne = 0x80000000;
constexpr std::uint32_t kPolynomial = 0xedb88320;  // without its x^32

constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ (kPolynomial & (0u - (a & 1)));
}

/// x^8n modulo the polynomial, by n.
constexpr auto kPowers = [] {
  std::array<std::uint32_t, kMostTailBytes + 1> powers{kOne};
  for (std::size_t n = 1; n < powers.size(); ++n) {
    powers[n] = powers[n - 1];
    for (int bit = 0; bit < 8; ++bit) powers[n] = times_x(powers[n]);
  }
  return powers;
}();

/// The product modulo the polynomial, on any processor.
std::uint32_t multiply_bitwise(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= b & (0u - (a >> 31));
    b = times_x(b);
  }
  return product;
}

#if defined(__x86_64__)

/// The polynomial with its x^32, which is the lowest bit here.
constexpr std::uint64_t kWholePolynomial = std::uint64_t{kPolynomial} << 1 | 1;

/// What the whole polynomial must be multiplied by for a product of which the lowest 32 bits are 1.
constexpr std::uint32_t kInverse = [] {
  std::uint32_t inverse = 0;
  std::uint32_t product = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const std::uint32_t wanted = bit == 0 ? 1 : 0;
    if ((product >> bit & 1) == wanted) continue;
    inverse |= 1u << bit;
    product ^= static_cast<std::uint32_t>(kWholePolynomial << bit);
  }
  return inverse;
}();

#define URNIC_PCLMULQDQ __attribute__((target("pclmul")))

URNIC_PCLMULQDQ std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                                               _mm_cvtsi64_si128(static_cast<long long>(b)), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

/// As Barrett does it: takes away the multiple of the polynomial that has the same powers from x^32 on, which
/// are the lower half.
URNIC_PCLMULQDQ std::uint32_t multiply_carryless(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t product = times(a, b) << 1;
  const auto multiple = static_cast<std::uint32_t>(times(static_cast<std::uint32_t>(product), kInverse));
  return static_cast<std::uint32_t>((product ^ times(multiple, kWholePolynomial)) >> 32);
}

#undef URNIC_PCLMULQDQ

std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  static const bool has_pclmulqdq = __builtin_cpu_supports("pclmul") != 0;
  return has_pclmulqdq ? multiply_carryless(a, b) : multiply_bitwise(a, b);
}

#else

std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  return multiply_bitwise(a, b);
}

#endif

}  // namespace

void extend(TailCrc& tail, std::span<const std::byte> bytes) {
  tail = {tail.bytes() + static_cast<std::uint32_t>(bytes.size()), crc32(tail.crc(), bytes)};
}

void write_padding(std::span<std::byte> padding, TailCrc& tail) {
  if (padding.empty()) return;
  std::fill(padding.begin(), padding.end(), std::byte{0});
  if (tail.bytes() > 0) extend(tail, padding);
}

std::uint32_t join(std::uint32_t crc, const TailCrc& tail) {
  assert(tail.bytes() <= kMostTailBytes);
  return multiply(crc, kPowers[tail.bytes()]) ^ tail.crc();
}

}  // namespace urnic::transport::wire
