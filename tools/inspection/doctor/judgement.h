// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the facts of a host mean for a user of urnic there.
#pragma once

#include <vector>

#include "tools/inspection/doctor/finding.h"
#include "tools/inspection/doctor/host_facts.h"
#include "tools/inspection/doctor/path_probe.h"

namespace urnic::tools {

/// In the order in which a user meets them.
std::vector<Finding> judge(const HostFacts& facts);
/// Of the way to a peer.
Finding judge(const PathFacts& facts);

}  // namespace urnic::tools
