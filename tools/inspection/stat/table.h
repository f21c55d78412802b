// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What processes say about their NICs, for people.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tools/inspection/stat/processes.h"

namespace urnic::tools {

/// A few lines about each process, with its queue pairs, the ids of rdma_cm and the counters that are not
/// zero. Processes that were in `before`, too, get rates per second. With `most_lines`, queue pairs and ids
/// are left out until it fits, where that helps, and lines say how many.
std::string table_of(std::span<const NicProcess> processes, std::span<const NicProcess> before,
                     std::optional<std::size_t> most_lines);

}  // namespace urnic::tools
