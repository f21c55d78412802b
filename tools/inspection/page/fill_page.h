// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Puts a title and data into a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace urnic::tools {

/// `page` has @TITLE@ as text, and after it @DATA@ in a script element. `title` is text; strings in `data`
/// may hold any bytes, and none of them ends the element.
std::string fill_page(std::string_view page, std::string_view title, const nlohmann::ordered_json& data);

}  // namespace urnic::tools
