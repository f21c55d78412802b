// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WrittenPacket: what an endpoint says of a packet that it has written.
#pragma once

#include <cstdint>

#include "transport/wire/tail_crc.h"

namespace urnic::transport {

/// Lies in two registers, because each layer returns it for each packet.
struct WrittenPacket {
  std::uint32_t size = 0;     ///< bytes, from the BTH to the last byte of padding; 0: there is no packet
  std::uint32_t packets = 1;  ///< more than one: it is a run (transport/wire/run.h)
  wire::TailCrc tail{};       ///< as far as it was worked out on the way
};
static_assert(sizeof(WrittenPacket) == 2 * sizeof(std::uint64_t));

}  // namespace urnic::transport
