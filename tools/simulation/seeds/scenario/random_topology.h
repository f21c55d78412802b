// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A network of switches and links, drawn at random.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "drivers/network/topology.h"
#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/random.h"

namespace urnic::sim {

/// So long may a frame be inside a network of switches. One that comes out later is given up.
inline constexpr Duration kMaxTransit = std::chrono::milliseconds(50);

/// One to six switches, as a tree with some links more, so that there is more than one way; links that are so
/// slow, and queues so short, that they fill; priorities that mark, drop, or pause with enough headroom or
/// too little; links that are cut for a while. It passes network::check().
network::Topology draw_random_topology(std::size_t hosts, Random& random);

/// A DSCP for queue pairs, in the upper six bits of a traffic class, among those that networks often tell
/// apart.
std::uint8_t draw_traffic_class(Random& random);

/// One line without spaces at its ends: what there is and how the switches treat it.
std::string describe(const network::Topology& topology);

}  // namespace urnic::sim
