// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Puts captures together into a trace.
#pragma once

#include <vector>

#include "tools/inspection/view/capture.h"
#include "tools/inspection/view/trace.h"

namespace urnic::view {

/// A packet that several captures have becomes one; ends, answers and repetitions are found; notes and
/// findings get their packets.
Trace build_trace(std::vector<Capture> captures);

}  // namespace urnic::view
