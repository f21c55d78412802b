// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Packets of a flow as the simulator's wire observer sees them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tools/simulation/seeds/core/wire_view.h"

namespace urnic::sim::flow_test {

inline constexpr std::uint32_t kMtu = 256;
inline constexpr std::array<std::byte, kMtu> kPayload{};
inline constexpr std::uint8_t kRnrNak = 0x20 | 14;  // 1.28 ms
inline constexpr std::uint8_t kAccessNak = 0x62;

inline std::span<const std::byte> bytes(std::size_t size) {
  return std::span(kPayload).first(size);
}

inline WireView send_only(std::uint32_t psn, std::size_t size = 8) {
  return {.opcode = 4,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kSend,
          .is_first = true,
          .is_last = true,
          .payload = bytes(size)};
}

inline WireView read(std::uint32_t psn, std::uint32_t length, std::uint64_t address = 0x1000) {
  return {.opcode = 12,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kReadRequest,
          .is_first = true,
          .is_last = true,
          .has_reth = true,
          .address = address,
          .length = length};
}

inline WireView read_response(std::uint32_t psn, bool first, bool last, std::size_t size,
                              std::uint32_t msn = 1) {
  return {.psn = psn,
          .kind = PacketKind::kReadResponse,
          .is_first = first,
          .is_last = last,
          .has_aeth = first || last,
          .syndrome = 0x1f,
          .msn = msn,
          .payload = bytes(size)};
}

inline WireView acknowledge(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = 0x1f) {
  return {.opcode = 17,
          .psn = psn,
          .kind = PacketKind::kAcknowledge,
          .has_aeth = true,
          .syndrome = syndrome,
          .msn = msn};
}

}  // namespace urnic::sim::flow_test
