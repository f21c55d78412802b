// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The sources agent/agent.c, agent/agent.py and agent/listener.c, inside of the program.
// Those in C have agent/line_server.h inside.
#pragma once

#include <string_view>

namespace urnic::conform {

std::string_view c_agent();
std::string_view python_agent();
std::string_view c_listener();

}  // namespace urnic::conform
