// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reading one value of a script.
#pragma once

#include <string>
#include <string_view>

#include "tools/conformance/script/script.h"
#include "tools/conformance/script/vocabulary.h"
#include "transport/result.h"

namespace urnic::scripts {

/// Why something cannot be read; for a person, without a full stop at the end.
struct Complaint {
  std::string text;
};

/// `text` in the form that `rule` asks for, or what is wrong with it.
Result<Value, Complaint> read_value(const ValueRule& rule, std::string_view text);

/// Whether `text` can be a name: a letter, then letters, digits, '-' and '_'.
bool is_name(std::string_view text);

}  // namespace urnic::scripts
