// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a profile stands in a topology file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drivers/network/json_members.h"
#include "drivers/network/topology.h"

namespace urnic::network {

/// Reads one profile; what is not said keeps the defaults of Profile. Ranges are for check() to judge.
Profile read_profile(const nlohmann::ordered_json& value, const std::string& path, Complaint& complaint);

}  // namespace urnic::network
