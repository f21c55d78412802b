// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// From a script's text to its statements.
#pragma once

#include <string>
#include <string_view>

#include "tools/conformance/script/dialect.h"
#include "tools/conformance/script/script.h"
#include "transport/result.h"

namespace urnic::scripts {

/// Where and why a script cannot be read, or not be run.
struct ScriptError {
  unsigned line = 0;
  std::string message;  ///< for a person, without a full stop at the end
};

/// Longer texts, or texts with more statements, are refused.
inline constexpr std::size_t kMostScriptBytes = 64 * 1024;
inline constexpr std::size_t kMostStatements = 1000;

/// `text` may be anything. `dialect` must be new.
Result<Script, ScriptError> parse_script(std::string_view text, Dialect& dialect);
/// A script of a queue pair.
Result<Script, ScriptError> parse_script(std::string_view text);

}  // namespace urnic::scripts
