// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CallStack: where in the program a verb was called.
#pragma once

#include <string>
#include <vector>

namespace urnic::verbs_api {

/// A line for each call of this thread, the latest first, without those within urnic: function, file and line
/// where the program has been compiled with -g and addr2line is installed, otherwise what the dynamic linker
/// knows. Takes some milliseconds, as addr2line runs.
std::vector<std::string> program_calls();

}  // namespace urnic::verbs_api
