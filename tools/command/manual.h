// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The manual pages of `urnic` and of its commands, as man(7) wants them.
#pragma once

#include <string>
#include <string_view>

#include "tools/command/command_line.h"

namespace urnic::tools {

/// urnic(1): the commands, and the page of each.
std::string manual_page(const CommandLine& tool, std::string_view version);

/// urnic-COMMAND(1) of one of the tool's commands: its options and commands, and what --help says of it.
std::string manual_page(const CommandLine& tool, const CommandLine& command, std::string_view version);

}  // namespace urnic::tools
