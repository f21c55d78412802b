// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Programs for RDMA that people know by name: where Debian has them, and which of them are here.
#pragma once

#include <string>
#include <string_view>

namespace urnic::tools {

/// What to do about a program that is not there, as the end of a sentence: its package, or names like it.
/// Empty if there is nothing to say.
std::string advice_on_missing_program(std::string_view program);

/// A command that shows the device, with its arguments, of a program that is installed here.
std::string example_command();

}  // namespace urnic::tools
