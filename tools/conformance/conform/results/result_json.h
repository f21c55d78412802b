// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A result as JSON, and back.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/conformance/conform/results/verdict.h"

namespace urnic::conform {

/// What went by is left out of what passed.
nlohmann::json json_of(const CaseResult& result);

/// The result of that case; nothing if the text, which may be anything, is none.
std::optional<CaseResult> result_from(const nlohmann::json& json, const Case& of);

}  // namespace urnic::conform
