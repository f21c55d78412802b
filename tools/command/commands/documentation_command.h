// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic completion` and `urnic manual`: what is made of the options that the tool has.
#pragma once

#include <CLI/CLI.hpp>

namespace urnic::tools {

/// Adds both commands to `app`, which they describe with everything that is added later, and which outlives
/// the parse.
void add_documentation_commands(CLI::App& app);

}  // namespace urnic::tools
