// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The manual page of `urnic`, urnic(1).
#pragma once

#include <string>
#include <string_view>

#include "tools/command/command_line.h"

namespace urnic::tools {

/// The page as man(7) wants it: every command with its options, and what --help says of it.
std::string manual_page(const CommandLine& tool, std::string_view version);

}  // namespace urnic::tools
