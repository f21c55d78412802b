// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether a script can be played with an agent.
#pragma once

#include <optional>
#include <string>

#include "tools/conformance/script/script.h"

namespace urnic::conform {

/// Why an agent cannot do what the script wants, as far as that is known before; nothing if it can.
std::optional<std::string> reason_against(const scripts::Script& script);

}  // namespace urnic::conform
