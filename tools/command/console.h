// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How `urnic` talks to people and shells.
#pragma once

#include <string>

namespace urnic::tools {

/// Exit codes as a shell has them.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

/// Prints "urnic: MESSAGE" on stderr.
void complain(const std::string& message);

}  // namespace urnic::tools
