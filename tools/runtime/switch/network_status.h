// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a switch tells about its network, as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "drivers/network/network.h"
#include "drivers/network/topology.h"

namespace urnic::tools {

/// Its name, hosts and size: {"name", "hosts": [NAME], "switches": N, "links": N}.
nlohmann::json describe_network(const network::Topology& it);

/// Its ports from number `first` on, as many as an answer of the control socket holds:
///
///     {"ports": [{"port": "a->left", "is_up", "rate_bps", "delay_ns", "priorities": {"3": COUNTS}}], "next": N}
///
/// `next` is the first that is missing, or null. COUNTS of priorities that have seen nothing are left out.
nlohmann::json network_ports(const network::Network& it, std::size_t first);

}  // namespace urnic::tools
