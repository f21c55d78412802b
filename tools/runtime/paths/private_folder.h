// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Where the files stand that programs are shown.
#pragma once

#include <atomic>
#include <cstdlib>

namespace urnic::paths {

/// Whether the program is `urnic run`, which looks at the system itself (urnic_paths_show_nothing()).
inline std::atomic<bool> shows_nothing{false};

/// $URNIC_PATHS; null when the program is to see what there is. Read once: programs change their environment.
inline const char* private_folder() {
  static const char* const folder = secure_getenv("URNIC_PATHS");
  return shows_nothing.load(std::memory_order_relaxed) ? nullptr : folder;
}

}  // namespace urnic::paths
