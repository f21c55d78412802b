// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Stations: whom a port tells apart among those that it reaches.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/port/number_share.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

/// On Ethernet a station is a NIC with its MAC. NICs that share a host's addresses have no MAC; this names
/// one of them to ports, and stands in no frame: locally administered, and the share's value.
constexpr transport::wire::Mac station_of_share(std::uint8_t value) {
  return {{0x02, 'u', 'r', 'n', 'h', value}};
}

/// The station that has that queue pair. Nothing for queue pairs of management, which are the host's.
constexpr std::optional<transport::wire::Mac> station_of(transport::QpNumber qp) {
  const auto share = static_cast<std::uint8_t>(to_integer(qp) >> (24 - NumberShare::kHostBits));
  if (share == 0) return std::nullopt;
  return station_of_share(share);
}

}  // namespace urnic::nic
