// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The object that the page shows (DATA.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/inspection/view/layouts.h"
#include "tools/inspection/view/trace.h"

namespace urnic::view {

nlohmann::ordered_json trace_json(const Trace& trace, const Layouts& layouts);

}  // namespace urnic::view
