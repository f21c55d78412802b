// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IPv4 packets as a UDP socket gives them, which does not show their identification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/wire/icrc.h"
#include "transport/wire/icrc_identification.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/udp.h"

namespace urnic::test {

/// `packet`, which has identification 0, as if its sender's kernel had chosen `identification`: the ICRC is
/// for that, and the header has none.
inline std::vector<std::byte> without_identification(std::vector<std::byte> packet,
                                                     std::uint16_t identification) {
  namespace wire = transport::wire;
  constexpr std::size_t kHeaders = wire::Ipv4::kMinBytes + wire::Udp::kBytes;
  wire::IcrcIdentification identifications;
  const std::size_t behind = wire::IcrcIdentification::bytes_behind(
      wire::Ipv4::kMinBytes, packet.size() - kHeaders - wire::kIcrcBytes);
  const auto icrc = std::span(packet).last(wire::kIcrcBytes);
  wire::store_icrc(wire::load_icrc(icrc) ^ identifications.icrc_change(identification, behind), icrc);
  return packet;
}

}  // namespace urnic::test
