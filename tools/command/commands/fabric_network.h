// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The network of a fabric, for `urnic fabric status`.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "nic/host/switch_files.h"
#include "transport/result.h"

namespace urnic::tools {

/// Asks the switch that the files belong to about the ports of its network: an array of them, see
/// tools/runtime/switch/network_status.h. Throws json::exception when the switch is of another version.
Result<nlohmann::json, Error> ask_network_ports(const nic::SwitchFiles& files);

/// Prints what `urnic fabric status` says of the network: hosts that no program is on, and what each port has
/// seen, a line for each priority. `ports` are the fabric's; the network's are in `network`. Throws
/// json::exception likewise.
void print_network(const nlohmann::json& network, const nlohmann::json& ports);

/// The name of a host, or nothing where there is no network or no such host.
std::string host_name(const nlohmann::json& network, std::size_t host);

}  // namespace urnic::tools
