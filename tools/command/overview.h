// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What `urnic` says to a person who wrote nothing after it.
#pragma once

#include <string>

namespace urnic::tools {

/// What it is, what to try first, which commands there are, and where more is.
std::string overview();

}  // namespace urnic::tools
