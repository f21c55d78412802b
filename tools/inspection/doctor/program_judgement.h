// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the facts of a program mean for its user: does it get urnic's device, and why not?
#pragma once

#include <vector>

#include "tools/inspection/doctor/finding.h"
#include "tools/inspection/doctor/program_facts.h"

namespace urnic::tools {

/// The program first, then the libraries that it loads, then each framework.
std::vector<Finding> judge(const ProgramFacts& facts);

}  // namespace urnic::tools
