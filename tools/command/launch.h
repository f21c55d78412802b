// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What `urnic run` does before and when it becomes the program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/result.h"
#include "verbs_api/config/environment.h"

namespace urnic::tools {

/// Variables that say which NIC a process is. Inside another `urnic run` they are that one's, down to its
/// lease: a nested run forgets them all and makes a NIC of its own. Otherwise they are the user's, and
/// options win over them.
void forget_outer_nic();

/// Checks what otherwise only the opening of the port would find, when the program could say no more than "no
/// device": permission for raw packets, an address that the host has itself, a recording that cannot be
/// written.
Result<void, Error> check_port(const verbs_api::NicEnvironment& environment);

/// Puts into the environment what the drop-in reads of each device, the leases included. The seed only if the
/// user gave one: it must be another each time the program runs.
Result<void, Error> export_environments(std::span<const verbs_api::NicEnvironment> environments);

/// The folder of the drop-in libibverbs: ../lib/urnic, seen from the executable. ENOENT: it is not there, or
/// /proc is not.
Result<std::string, Error> dropin_folder();

/// "urnic0: 10.77.0.1/24, 02:00:0a:4d:00:01, fabric:default,0, link MTU 4200, seed
/// 17"
std::string describe(const nic::DeviceConfig& device);

/// Becomes the program. Returns only when that fails: the exit code that a shell would give.
int execute(const std::vector<std::string>& program);

}  // namespace urnic::tools
