// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the sheet says, out of the product's tables.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace urnic::sheet {

/// Members: `urnic` (version), `headers`, `opcodes`, `syndromes`, `codes`, `states`, `transitions`,
/// `statuses`; each but the first is a list of rows.
nlohmann::ordered_json sheet_data();

}  // namespace urnic::sheet
