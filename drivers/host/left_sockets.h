// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sockets in the private folder whose processes have ended.
#pragma once

#include <chrono>
#include <string>

namespace urnic::drivers {

/// Removes sockets of direct links of any host (a network namespace, such as a container's) at which no
/// process listens, and which are at least so old: a process that has just made one may not listen yet. Waits
/// for no process.
void remove_left_sockets(const std::string& folder, std::chrono::seconds age = std::chrono::seconds(60));

}  // namespace urnic::drivers
