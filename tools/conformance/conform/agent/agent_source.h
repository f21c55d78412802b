// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The source of the agent, agent/agent.c, inside of the program.
#pragma once

#include <string_view>

namespace urnic::conform {

std::string_view agent_source();

}  // namespace urnic::conform
