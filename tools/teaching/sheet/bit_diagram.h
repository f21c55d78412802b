// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The bit diagram of a header, 32 bits a row, as RFCs have them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/teaching/sheet/html_writer.h"

namespace urnic::sheet {

/// A table. `header` is one of `headers` in sheet_data().
void write_bit_diagram(HtmlWriter& html, const nlohmann::ordered_json& header);

}  // namespace urnic::sheet
