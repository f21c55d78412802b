// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Results as a page for a browser.
#pragma once

#include <span>
#include <string>

#include "tools/conformance/conform/results/verdict.h"

namespace urnic::conform {

/// One HTML file that needs nothing else: all cases, and of each that did not pass what went by, as text and,
/// where its packets were kept, as the ladder of `urnic view`. Files of packets are read now.
std::string html_report(const std::string& peer, std::span<const CaseResult> results);

}  // namespace urnic::conform
