// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The steps that the input of device_fuzz is made of; see there for what they mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/types.h"

namespace urnic::test {

struct Step {
  // Flags. kRepair goes with frames, the three in front of it with packets.
  static constexpr std::uint8_t kPostSend = 0x01;
  static constexpr std::uint8_t kPostReceive = 0x02;
  static constexpr std::uint8_t kPacket = 0x04;
  static constexpr std::uint8_t kQueuePair =
      0x08;  ///< the packet's destination queue pair becomes the chosen one
  /// Its PSN is counted from the expected one (requests), or from the last one sent (responses).
  static constexpr std::uint8_t kSequence = 0x10;
  /// Its key becomes the key of a region, its address one in the region or shortly after it.
  static constexpr std::uint8_t kRemoteKey = 0x20;
  static constexpr std::uint8_t kRepair = 0x40;  ///< the frame's checksum and ICRC are made right
  static constexpr std::uint8_t kReconnect = 0x80;

  /// Without kPacket, the bytes are calls of the program: see device_calls.h.
  static constexpr std::uint8_t kCalls = kRemoteKey;
  /// With kPacket, the packet goes to the multicast group.
  static constexpr std::uint8_t kToGroup = kRepair;

  static constexpr std::size_t kHeaderBytes = 4;

  std::uint8_t flags = 0;
  std::uint8_t choice = 0;
  /// Of the packets of a run, which the frame or packet comes as; zero: it is none.
  transport::PathMtu run_mtu{};
  std::span<const std::byte> bytes;
};

/// Takes a step off the front of `input`; nothing is left when the input ends in the middle of one.
inline Step take_step(std::span<const std::byte>& input) {
  if (input.size() < Step::kHeaderBytes) {
    input = {};
    return {};
  }
  const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(input[i]); };
  using enum transport::PathMtu;
  constexpr std::array kRunMtus{transport::PathMtu{}, k256, k1024, k4096};
  const std::size_t wanted = at(2) | (at(3) & 0x3fu) << 8;
  Step step{.flags = static_cast<std::uint8_t>(at(0)),
            .choice = static_cast<std::uint8_t>(at(1)),
            .run_mtu = kRunMtus[at(3) >> 6],
            .bytes = {}};
  input = input.subspan(Step::kHeaderBytes);
  step.bytes = input.first(std::min(wanted, input.size()));
  input = input.subspan(step.bytes.size());
  return step;
}

}  // namespace urnic::test
