// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Numbers that must not be mixed: PSN, QPN, keys and handles are types of their own.
#pragma once

#include <cstdint>
#include <type_traits>

namespace urnic::transport {

enum class QpNumber : std::uint32_t {};  ///< 24 bits
inline constexpr std::uint32_t kMaxQpNumber = 0xffffff;
enum class Lkey : std::uint32_t {};
enum class Rkey : std::uint32_t {};
enum class PdId : std::uint32_t {};  ///< identifies a protection domain within one device

/// The integer that a value of one of the types above holds.
template <typename Enum>
requires std::is_enum_v<Enum>
constexpr std::underlying_type_t<Enum> to_integer(Enum value) {
  return static_cast<std::underlying_type_t<Enum>>(value);
}

/// A packet sequence number: 24 bits, circular. There is deliberately no operator<; ask distance().
class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;

  constexpr Psn() = default;
  /// Takes the low 24 bits of `value`.
  explicit constexpr Psn(std::uint32_t value) : value_(value & kMask) {}

  constexpr std::uint32_t value() const { return value_; }

  friend constexpr bool operator==(Psn, Psn) = default;
  friend constexpr Psn operator+(Psn psn, std::uint32_t packets) { return Psn(psn.value_ + packets); }
  friend constexpr Psn operator-(Psn psn, std::uint32_t packets) { return Psn(psn.value_ - packets); }

 private:
  std::uint32_t value_ = 0;
};

/// How many packets `to` is ahead of `from` (negative: before it), modulo 2^24: -2^23 .. 2^23 - 1 (fact 39).
constexpr std::int32_t distance(Psn from, Psn to) {
  const std::uint32_t ahead = (to.value() - from.value()) & Psn::kMask;
  return (ahead & 0x800000u) != 0 ? static_cast<std::int32_t>(ahead) - 0x1000000
                                  : static_cast<std::int32_t>(ahead);
}

/// Bytes of payload in a full packet of a path.
enum class PathMtu : std::uint16_t { k256 = 256, k512 = 512, k1024 = 1024, k2048 = 2048, k4096 = 4096 };

constexpr std::uint32_t bytes(PathMtu mtu) {
  return to_integer(mtu);
}

/// The longest message of any service, in bytes (fact 29).
inline constexpr std::uint32_t kMaxMessageBytes = 1u << 31;

}  // namespace urnic::transport
