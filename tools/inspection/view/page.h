// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The page that shows a trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace urnic::view {

/// One HTML file that needs nothing else. `title` is text.
std::string page_of(std::string_view title, const nlohmann::ordered_json& trace);
/// The same with @TITLE@ and @DATA@ in their places, for pages that show several traces. What they put there
/// must be text, and JSON without "<".
std::string_view page_without_data();

}  // namespace urnic::view
