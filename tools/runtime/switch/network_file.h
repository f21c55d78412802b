// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The file of a network for a fabric.
#pragma once

#include <cstdint>
#include <string>

#include "drivers/network/topology.h"
#include "transport/result.h"

namespace urnic::tools {

/// What a fabric asks of its network.
struct FabricNeeds {
  std::uint16_t link_mtu = 0;  ///< bytes, of IP packets
  bool has_uplink = false;     ///< which is the last host
};

/// Reads a topology, and checks that programs of a fabric can be its hosts: that there are ports for all of
/// them, and that their NICs hold a longest frame. The errors are for a person, and name the file.
Result<network::Topology, Error> read_network(const std::string& path, const FabricNeeds& needs);

/// How many programs can be hosts of it.
constexpr std::size_t program_hosts(std::size_t hosts, bool has_uplink) {
  return has_uplink ? hosts - 1 : hosts;
}

}  // namespace urnic::tools
