// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic run`: gives a program a NIC.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`. When the parser calls it, it becomes `invocation.program`, or leaves an exit
/// code.
void add_run_command(CLI::App& app, Invocation& invocation);

}  // namespace urnic::tools
