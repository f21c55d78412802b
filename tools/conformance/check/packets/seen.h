// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A packet of a capture, with what is known of its frame.
#pragma once

#include <cstdint>

#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::check {

/// Whether a packet was overtaken by one that its sender sent later. Only the IP identification tells, and
/// only if the sender counts it.
enum class Order : std::uint8_t { kInOrder, kLate, kUnknown };

/// A packet on its way through the models.
struct Seen {
  const Frame& frame;
  const Packet& packet;
  std::uint64_t number = 0;  ///< of its frame
  std::int64_t time_ns = 0;
  bool is_damaged = false;  ///< the ICRC is wrong; receivers drop it
  std::uint32_t icrc = 0;   ///< as sent; 0 when cut off
  Order order = Order::kUnknown;

  bool has_whole_payload() const { return packet.payload.size() == packet.payload_bytes; }
};

}  // namespace urnic::check
