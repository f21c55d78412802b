// What main() and the commands behind `urnic` hand to each other.
#pragma once

#include <string>
#include <vector>

namespace urnic::tools {

/// Beside its options, what a command finds on its command line, and what it leaves behind. Outlives the
/// parse.
struct Invocation {
  std::vector<std::string> program;  ///< everything behind "--"
  int exit_code = 0;
};

}  // namespace urnic::tools
