// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RunShape: what a port is told of a frame that stands for several.
#pragma once

#include <cstdint>

#include "transport/types.h"

namespace urnic::nic {

/// The frame carries a run of RoCE packets (transport/wire/run.h), and has the headers of one packet with all
/// of their payload.
struct RunShape {
  transport::PathMtu mtu{};  ///< the payload of each packet but the last; zero: it is no run
  std::uint8_t packets = 1;  ///< for counters; a peer may lie

  bool is_run() const { return mtu != transport::PathMtu{}; }
};

}  // namespace urnic::nic
