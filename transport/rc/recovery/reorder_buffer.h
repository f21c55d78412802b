// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ReorderBuffer: the request packets that a responder holds until those before them have come.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "transport/rc/recovery/held_psns.h"
#include "transport/types.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

/// Copies of up to 256 packets. Its memory, a path MTU for each, is taken at once; pages that no packet ever
/// reached cost nothing.
class ReorderBuffer {
 public:
  /// For packets of at most `mtu_bytes` of payload.
  explicit ReorderBuffer(std::uint32_t mtu_bytes);

  /// Copies a packet that came while `expected` is missing. Not when it is too far ahead, has more payload
  /// than there is room for, or is held already.
  void hold(const wire::Packet& packet, Psn expected);
  /// Everything before `expected` was executed: the packet that is to be executed next, if it is held. It is
  /// not held any more, and good until the next call of hold().
  std::optional<wire::Packet> take(Psn expected);

  const HeldPsns& held() const { return held_; }

 private:
  std::size_t slot(Psn psn) const { return psn.value() % HeldPsns::kReach; }

  HeldPsns held_;
  std::uint32_t mtu_bytes_;
  std::array<wire::Packet, HeldPsns::kReach> packets_;
  std::unique_ptr<std::byte[]> payloads_;
};

}  // namespace urnic::transport
