// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which queue pairs talk to each other.
#pragma once

#include <vector>

#include "tools/inspection/view/capture.h"
#include "tools/inspection/view/trace.h"

namespace urnic::view {

/// Fills in the trace's connections, and of its packets `connection` and `from`. A BTH names the receiver's
/// queue pair only: the sender's is told by recordings' notes, by answers, or by datagrams.
void find_ends(const std::vector<Capture>& captures, Trace& trace);

}  // namespace urnic::view
