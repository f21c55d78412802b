// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the user says of congestion control in a capture; captures do not tell.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/conformance/check/packets/link_frame.h"

namespace urnic::check {

/// Among which CNPs of one sender a NIC keeps its spacing (fact 50: it depends on the NIC).
enum class CnpScope : std::uint8_t {
  kQueuePair,  ///< those to one queue pair
  kAddress,    ///< those to one address
  kPort,       ///< all
};
inline constexpr std::size_t kCnpScopes = 3;
const char* to_string(CnpScope scope);

struct CongestionPolicy {
  std::int64_t cnp_spacing_ns = 0;  ///< the least time between two CNPs; 0: not said, and not judged
  CnpScope cnp_scope = CnpScope::kQueuePair;
  double link_rate_bps = 0;      ///< of the link that was captured; 0: not said, and pauses are counted only
  std::vector<Mac> link_host{};  ///< addresses of the host at one end of it, where its frames do not tell
};

}  // namespace urnic::check
