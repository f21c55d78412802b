// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What to do about a file that a command was to read as a capture.
#pragma once

#include <string>

namespace urnic::tools {

/// For a command that was given no file.
std::string which_capture(const std::string& command);

/// The end of a sentence about a file that cannot be read; empty if there is nothing to say.
std::string advice_on_capture(const std::string& file);

}  // namespace urnic::tools
