// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Big-endian numbers in captured bytes. The caller has checked the length.
#pragma once

#include <boost/endian/conversion.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace urnic::check {

using ByteView = std::span<const std::byte>;

template <std::size_t kBytes>
auto load_big(ByteView bytes, std::size_t at) {
  static_assert(kBytes <= 8);
  assert(at + kBytes <= bytes.size());
  using Number =
      std::conditional_t<kBytes == 1, std::uint8_t,
                         std::conditional_t<kBytes == 2, std::uint16_t,
                                            std::conditional_t<(kBytes <= 4), std::uint32_t, std::uint64_t>>>;
  return boost::endian::endian_load<Number, kBytes, boost::endian::order::big>(
      reinterpret_cast<const unsigned char*>(bytes.data() + at));
}

inline std::uint8_t load_u8(ByteView bytes, std::size_t at) {
  return load_big<1>(bytes, at);
}
inline std::uint16_t load_u16(ByteView bytes, std::size_t at) {
  return load_big<2>(bytes, at);
}
inline std::uint32_t load_u24(ByteView bytes, std::size_t at) {
  return load_big<3>(bytes, at);
}
inline std::uint32_t load_u32(ByteView bytes, std::size_t at) {
  return load_big<4>(bytes, at);
}
inline std::uint64_t load_u64(ByteView bytes, std::size_t at) {
  return load_big<8>(bytes, at);
}

}  // namespace urnic::check
