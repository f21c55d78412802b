// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which frames of several captures are one packet.
#pragma once

#include <vector>

#include "tools/inspection/view/capture.h"
#include "tools/inspection/view/trace.h"

namespace urnic::view {

/// The packets of all captures by time. What one capture says was sent, and another that it was received,
/// with the same bytes, is one packet; where captures do not say, the earlier one is the sender's. Of equal
/// packets a frame that was received is the last one that was sent before it.
std::vector<Packet> unite(std::vector<Capture>& captures);

}  // namespace urnic::view
