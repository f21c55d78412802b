// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The AETH syndrome: acknowledgement, RNR NAK or NAK (fact 19).
#pragma once

#include <cstdint>
#include <optional>

namespace urnic::transport {

/// Why a responder refuses a request.
enum class Nak : std::uint8_t {
  kPsnSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccessError = 2,
  kRemoteOperationalError = 3,
};

/// What the top three bits of a syndrome say.
enum class SyndromeKind : std::uint8_t { kAcknowledge = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

constexpr SyndromeKind kind_of(std::uint8_t syndrome) {
  // Bit 7 is reserved and must be zero.
  if ((syndrome & 0x80) != 0) return SyndromeKind::kReserved;
  return static_cast<SyndromeKind>(syndrome >> 5);
}

/// The low five bits: credits of an ACK, timer code of an RNR NAK, reason of a NAK.
constexpr std::uint8_t value_of(std::uint8_t syndrome) {
  return syndrome & 0x1f;
}

/// The reason of a NAK, or nothing for codes that a reliable connection does not know.
constexpr std::optional<Nak> nak_of(std::uint8_t syndrome) {
  const std::uint8_t code = value_of(syndrome);
  if (code > 3) return std::nullopt;
  return static_cast<Nak>(code);
}

/// An ACK without credit information: we never withhold credits, an empty receive queue answers with RNR NAK.
inline constexpr std::uint8_t kAckSyndrome = 0x1f;

constexpr std::uint8_t nak_syndrome(Nak reason) {
  return static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(reason));
}
constexpr std::uint8_t rnr_nak_syndrome(std::uint8_t timer_code) {
  return static_cast<std::uint8_t>(0x20 | (timer_code & 0x1f));
}

}  // namespace urnic::transport
