// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Draws series as a page for a browser.
#pragma once

#include <string>
#include <vector>

#include "tools/simulation/experiment/outcome.h"
#include "tools/simulation/experiment/report.h"
#include "tools/simulation/experiment/series.h"
#include "transport/result.h"

namespace urnic::experiment {

/// Writes one HTML file that needs no server and no network: a panel for each metric, and the report. The
/// error says what the system said.
Result<void, Error> write_plot(const std::string& path, const Title& title, const Outcome& outcome,
                               const std::vector<Series>& series);

}  // namespace urnic::experiment
