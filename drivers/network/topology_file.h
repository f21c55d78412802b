// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Topologies as text: JSON in which comments are allowed. TOPOLOGY.md describes the format.
#pragma once

#include <string_view>

#include "drivers/network/topology.h"
#include "transport/result.h"

namespace urnic::network {

/// A topology for which check() has no complaint. The error (EINVAL) says what is wrong, where in the
/// document ("links[3].rate"), and what to do; members that are unknown, or given twice, are wrong, too.
Result<Topology, Error> parse_topology(std::string_view text);

}  // namespace urnic::network
