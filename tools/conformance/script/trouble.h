// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Trouble: why a statement of a script did not go through.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace urnic::scripts {

struct Trouble {
  enum class Kind : std::uint8_t {
    kFailure,      ///< what is tested failed the script
    kScriptError,  ///< the script asks for what cannot be done
    kUnavailable,  ///< whoever plays what is tested can neither do it nor tell
  };

  std::string message;
  Kind kind = Kind::kFailure;
};

/// For `return script_error(...)`.
inline Trouble script_error(std::string message) {
  return {std::move(message), Trouble::Kind::kScriptError};
}
inline Trouble unavailable(std::string message) {
  return {std::move(message), Trouble::Kind::kUnavailable};
}

}  // namespace urnic::scripts
