// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PeerMac: a peer's MAC as the neighbor cache last told it.
#pragma once

#include <cstdint>

#include "transport/wire/address.h"

namespace urnic::nic {

/// Good as long as nothing changes in the neighbor cache.
struct PeerMac {
  bool is_known = false;
  std::uint32_t generation = 0;  ///< of the neighbor cache
  transport::wire::Mac mac{};

  bool is_good(std::uint32_t now_generation) const { return is_known && generation == now_generation; }
};

}  // namespace urnic::nic
