// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pause frames of priority-based flow control (IEEE 802.1Qbb, as fact A3 has them).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drivers/network/topology.h"
#include "transport/wire/address.h"

namespace urnic::network {

/// A quantum of pause is the time of so many bits on the link.
inline constexpr std::uint64_t kQuantumBits = 512;

/// Which priorities shall pause, and for how many quanta.
struct PauseFrame {
  /// Without the FCS, which the model's frames do not carry: 64 bytes with it.
  static constexpr std::size_t kBytes = 60;

  std::uint8_t priorities = 0;                      ///< bit N: quanta[N] is meant
  std::array<std::uint16_t, kPriorities> quanta{};  ///< 0: go on

  /// Nothing for anything else, the pause of all priorities at once (802.3x, opcode 0x0001) included. Ignores
  /// the bytes after the times, and the eight upper bits of the vector.
  static std::optional<PauseFrame> parse(std::span<const std::byte> frame);

  friend constexpr bool operator==(const PauseFrame&, const PauseFrame&) = default;
};

/// Writes the frame, from the destination MAC 01:80:c2:00:00:01 to its last zero, to the front of `out`;
/// returns kBytes.
std::size_t emit(const PauseFrame& pause, const transport::wire::Mac& source, std::span<std::byte> out);

}  // namespace urnic::network
