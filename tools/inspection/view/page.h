// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The page that shows a trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace urnic::view {

/// One HTML file that needs nothing else. `title` is text.
std::string page_of(std::string_view title, const nlohmann::ordered_json& trace);

}  // namespace urnic::view
