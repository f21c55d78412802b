// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Trouble: why a statement of a script did not go through.
#pragma once

#include <string>
#include <utility>

namespace urnic::scripts {

struct Trouble {
  std::string message;
  bool is_script_error =
      false;  ///< the script asks for what cannot be done; otherwise what is tested failed it
};

/// For `return script_error(...)`.
inline Trouble script_error(std::string message) {
  return {std::move(message), true};
}

}  // namespace urnic::scripts
