// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What main() and the commands of `urnic` hand to each other.
#pragma once

#include <string>
#include <vector>

namespace urnic::tools {

/// What a command finds on its command line besides its options, and its result. Outlives the parse.
struct Invocation {
  std::vector<std::string> program;  ///< everything after "--"
  int exit_code = 0;
};

}  // namespace urnic::tools
