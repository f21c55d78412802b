// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How scripts about connections are read.
#pragma once

#include <string_view>

#include "tools/conformance/script/parser.h"

namespace urnic::scripts::connections {

/// `text` may be anything.
Result<Script, ScriptError> parse_connection_script(std::string_view text);

}  // namespace urnic::scripts::connections
