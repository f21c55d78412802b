// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/icrc_identification.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>

#include "transport/wire/crc32.h"
#include "transport/wire/udp.h"

namespace urnic::transport::wire {
namespace {

constexpr std::size_t kIdentificationEnd = 6;  // in the IPv4 header

/// CRC-32 of a big-endian number followed by so many zeros.
std::uint32_t crc32_before_zeros(std::uint16_t number, std::size_t zeros) {
  static constexpr std::array<std::byte, 1024> kZeros{};
  const std::array<std::byte, 2> bytes{static_cast<std::byte>(number >> 8), static_cast<std::byte>(number)};
  std::uint32_t crc = crc32(0, bytes);
  while (zeros > 0) {
    const std::size_t count = std::min(zeros, kZeros.size());
    crc = crc32(crc, std::span(kZeros).first(count));
    zeros -= count;
  }
  return crc;
}

}  // namespace

std::size_t IcrcIdentification::bytes_behind(std::size_t ip_header_bytes, std::size_t ib_bytes) {
  assert(ip_header_bytes > kIdentificationEnd);
  return ip_header_bytes - kIdentificationEnd + Udp::kBytes + ib_bytes;
}

std::uint32_t IcrcIdentification::icrc_change(std::uint16_t change, std::size_t bytes_behind) {
  const Length& length = of(bytes_behind);
  std::uint32_t sum = 0;
  for (unsigned bits = change; bits != 0; bits &= bits - 1) {
    sum ^= length.icrc_change_of_bit[static_cast<std::size_t>(std::countr_zero(bits))];
  }
  return sum;
}

// A step whose pivot is set must be part of the answer: later steps do not have that bit, and earlier ones
// are decided.
std::optional<std::uint16_t> IcrcIdentification::find(std::uint32_t icrc_change, std::size_t bytes_behind) {
  std::uint16_t change = 0;
  for (const Step& step : of(bytes_behind).steps) {
    if ((icrc_change & step.pivot) == 0) continue;
    icrc_change ^= step.icrc_change;
    change ^= step.bits;
  }
  if (icrc_change != 0) return std::nullopt;
  return change;
}

const IcrcIdentification::Length& IcrcIdentification::of(std::size_t bytes_behind) {
  assert(bytes_behind > 0);
  Length& length = lengths_[bytes_behind / 4 % kLengths];
  if (length.bytes_behind != bytes_behind) work_out(bytes_behind, length);
  return length;
}

// Gaussian elimination: each step is one more bit, without the pivots of the steps before it.
void IcrcIdentification::work_out(std::size_t bytes_behind, Length& length) {
  length.bytes_behind = bytes_behind;
  const std::uint32_t unchanged = crc32_before_zeros(0, bytes_behind);
  for (std::size_t i = 0; i < kBits; ++i) {
    const auto bit = static_cast<std::uint16_t>(1u << i);
    length.icrc_change_of_bit[i] = crc32_before_zeros(bit, bytes_behind) ^ unchanged;

    Step step{.icrc_change = length.icrc_change_of_bit[i], .bits = bit};
    for (const Step& earlier : std::span(length.steps).first(i)) {
      if ((step.icrc_change & earlier.pivot) == 0) continue;
      step.icrc_change ^= earlier.icrc_change;
      step.bits ^= earlier.bits;
    }
    step.pivot = std::bit_floor(step.icrc_change);
    length.steps[i] = step;
  }
}

}  // namespace urnic::transport::wire
