// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Encapsulation: how a frame carries an InfiniBand packet.
#pragma once

#include <cstdint>

namespace urnic::transport::wire {

enum class Encapsulation : std::uint8_t {
  kRoceV1,  ///< after a GRH, under an EtherType of its own: on Ethernet only
  kRoceV2,  ///< in a UDP datagram, over IPv4 or IPv6
};

}  // namespace urnic::transport::wire
