// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A failure in words.
#pragma once

#include <string>

#include "nic/diagnostics/failure_report.h"

namespace urnic::nic {

/// Several lines, each ending: what failed, why, the rule, what to do, and what happened last. Throws
/// std::bad_alloc.
std::string explain(const FailureReport& report);

}  // namespace urnic::nic
