// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WrittenPacket: what an endpoint says of a packet that it has written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/wire/tail_crc.h"

namespace urnic::transport {

struct WrittenPacket {
  std::size_t size = 0;       ///< bytes, from the BTH to the last byte of padding; 0: there is no packet
  wire::TailCrc tail{};       ///< as far as it was worked out on the way
  std::uint32_t packets = 1;  ///< more than one: it is a run (transport/wire/run.h)
};

}  // namespace urnic::transport
