// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reads small files that people wrote.
#pragma once

#include <string>

#include "transport/result.h"

namespace urnic::tools {

/// The whole file, of at most 16 MiB: far more than any topology or workload needs, but a file that is none
/// shall not fill the memory. The error is for a person, and names the file: what the system says, or EFBIG.
Result<std::string, Error> read_text_file(const std::string& path);

}  // namespace urnic::tools
