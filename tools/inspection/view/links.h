// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which packet answers which, and which one is there again.
#pragma once

#include "tools/inspection/view/trace.h"

namespace urnic::view {

/// Fills in `request`, `answers`, `repeats` and `repeated_by` of the trace's packets, whose connections are
/// known.
void link_packets(Trace& trace);

}  // namespace urnic::view
