// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The sources of the agent, agent/agent.c and agent/agent.py, inside of the program.
#pragma once

#include <string_view>

namespace urnic::conform {

std::string_view c_agent();
std::string_view python_agent();

}  // namespace urnic::conform
