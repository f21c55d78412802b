// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a capture file says of the frames in it.
#pragma once

#include <cstdint>

#include "nic/port/medium.h"

namespace urnic::drivers {

/// LINKTYPE_ETHERNET or LINKTYPE_RAW, as tcpdump.org lists them.
constexpr std::uint16_t link_type_of(nic::Medium medium) {
  return medium == nic::Medium::kEthernet ? 1 : 101;
}

}  // namespace urnic::drivers
