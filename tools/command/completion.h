// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Completion of `urnic`'s command line by shells.
#pragma once

#include <string>

#include "tools/command/command_line.h"

namespace urnic::tools {

/// Scripts that a shell reads when it starts. They complete commands, options, arguments out of a list,
/// files, and after "--" the program and what the shell knows about that.
std::string bash_completion(const CommandLine& tool);
std::string zsh_completion(const CommandLine& tool);
std::string fish_completion(const CommandLine& tool);

}  // namespace urnic::tools
