// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which system calls that urnic uses a sandbox allows: each is tried.
#pragma once

#include <string>
#include <vector>

namespace urnic::tools {

struct ProbedSystemCall {
  std::string name;
  std::string loss;        ///< what is so without it
  bool is_needed = false;  ///< false: urnic does with less
  int error = 0;           ///< errno, 0 when it works

  friend bool operator==(const ProbedSystemCall&, const ProbedSystemCall&) = default;
};

/// Tries them on this process, which is changed by none.
std::vector<ProbedSystemCall> probe_system_calls();

}  // namespace urnic::tools
