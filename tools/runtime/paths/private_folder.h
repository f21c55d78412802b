// Where the files stand that programs are shown.
#pragma once

#include <cstdlib>

namespace urnic::paths {

/// $URNIC_PATHS; null when the program is to see what there is. Read once: programs change their environment.
inline const char* private_folder() {
  static const char* const folder = secure_getenv("URNIC_PATHS");
  return folder;
}

}  // namespace urnic::paths
