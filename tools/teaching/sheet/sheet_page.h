// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The sheet as one HTML page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace urnic::sheet {

/// A page that needs nothing else, for a screen and for A4 paper. `data` is sheet_data().
std::string page_of(const nlohmann::ordered_json& data);

}  // namespace urnic::sheet
