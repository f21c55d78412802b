// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Big-endian integers in byte spans: typed fronts of boost::endian for this folder.
#pragma once

#include <boost/endian/conversion.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace urnic::transport::wire {

/// Reads the big-endian integer of `Bytes` bytes at offset `at`, which must lie inside `bytes`.
template <typename Integer, std::size_t Bytes = sizeof(Integer)>
Integer load_big(std::span<const std::byte> bytes, std::size_t at) {
  assert(at + Bytes <= bytes.size());
  return boost::endian::endian_load<Integer, Bytes, boost::endian::order::big>(
      reinterpret_cast<const unsigned char*>(bytes.data() + at));
}

/// Writes the low `Bytes` bytes of `value` in big-endian order at offset `at`, which must lie inside `bytes`.
template <typename Integer, std::size_t Bytes = sizeof(Integer)>
void store_big(std::span<std::byte> bytes, std::size_t at, Integer value) {
  assert(at + Bytes <= bytes.size());
  boost::endian::endian_store<Integer, Bytes, boost::endian::order::big>(
      reinterpret_cast<unsigned char*>(bytes.data() + at), value);
}

inline std::uint8_t load_u8(std::span<const std::byte> bytes, std::size_t at) {
  return load_big<std::uint8_t>(bytes, at);
}
inline std::uint16_t load_u16(std::span<const std::byte> bytes, std::size_t at) {
  return load_big<std::uint16_t>(bytes, at);
}
inline std::uint32_t load_u24(std::span<const std::byte> bytes, std::size_t at) {
  return load_big<std::uint32_t, 3>(bytes, at);
}
inline std::uint32_t load_u32(std::span<const std::byte> bytes, std::size_t at) {
  return load_big<std::uint32_t>(bytes, at);
}
inline std::uint64_t load_u64(std::span<const std::byte> bytes, std::size_t at) {
  return load_big<std::uint64_t>(bytes, at);
}

inline void store_u8(std::span<std::byte> bytes, std::size_t at, std::uint8_t value) {
  store_big<std::uint8_t>(bytes, at, value);
}
inline void store_u16(std::span<std::byte> bytes, std::size_t at, std::uint16_t value) {
  store_big<std::uint16_t>(bytes, at, value);
}
/// The top eight bits of `value` are dropped.
inline void store_u24(std::span<std::byte> bytes, std::size_t at, std::uint32_t value) {
  store_big<std::uint32_t, 3>(bytes, at, value);
}
inline void store_u32(std::span<std::byte> bytes, std::size_t at, std::uint32_t value) {
  store_big<std::uint32_t>(bytes, at, value);
}
inline void store_u64(std::span<std::byte> bytes, std::size_t at, std::uint64_t value) {
  store_big<std::uint64_t>(bytes, at, value);
}

/// Reads and writes the types of address.h, whose octets stand in the order of the wire already.
template <typename Address>
Address load_address(std::span<const std::byte> bytes, std::size_t at) {
  assert(at + Address::kBytes <= bytes.size());
  Address address;
  std::memcpy(address.octets.data(), bytes.data() + at, Address::kBytes);
  return address;
}
template <typename Address>
void store_address(std::span<std::byte> bytes, std::size_t at, const Address& address) {
  assert(at + Address::kBytes <= bytes.size());
  std::memcpy(bytes.data() + at, address.octets.data(), Address::kBytes);
}

}  // namespace urnic::transport::wire
