// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Writes series to files.
#pragma once

#include <string>
#include <vector>

#include "tools/simulation/experiment/series.h"
#include "transport/result.h"

namespace urnic::experiment {

/// One line for each sample, in the order of time: CSV with a heading if `path` ends in ".csv", and JSON
/// objects otherwise. The error says what the system said.
Result<void, Error> write_series(const std::string& path, const std::vector<Series>& series);

}  // namespace urnic::experiment
