// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Records of ERF, the Extensible Record Format of Endace's cards, as pcap files have them (link type 197).
#pragma once

#include "tools/conformance/check/reading/raw_frame.h"

namespace urnic::check {

/// Makes a frame of link type kErf what is in its record: Ethernet, or a packet of InfiniBand itself. Records
/// of other types, and cut ones, are left as they are.
void open_erf(RawFrame& frame);

}  // namespace urnic::check
