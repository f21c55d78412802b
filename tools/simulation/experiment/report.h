// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reports of an experiment, for people and for programs.
#pragma once

#include <string>

#include "tools/simulation/experiment/outcome.h"

namespace urnic::experiment {

/// What a reader has to know beside the outcome.
struct Title {
  std::string topology;
  std::string workload;
  std::uint64_t seed = 0;
  double seconds = 0;  ///< that it took, real ones
};

std::string text_report(const Title& title, const Outcome& outcome);
/// One object; EXPERIMENTS.md describes it. The same experiment gives the same text, except for "seconds".
std::string json_report(const Title& title, const Outcome& outcome);

}  // namespace urnic::experiment
