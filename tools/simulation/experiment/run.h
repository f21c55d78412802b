// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Runs an experiment from files to files; what `urnic sim --topology` calls.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tools/simulation/experiment/workload.h"
#include "transport/result.h"

namespace urnic::experiment {

struct RunOptions {
  std::string topology_file;
  std::string workload_file;
  std::uint64_t seed = 1;
  std::string congestion;  ///< as after --cc, instead of the workload's; empty: the workload's
  std::vector<std::string>
      faults;  ///< "HOST=SPEC", beside the workload's; "LEFT/RIGHT=SPEC", beside the topology's
  std::optional<transport::Recovery> recovery;        ///< instead of the workload's
  std::optional<Duration> until;                      ///< likewise
  Duration interval = std::chrono::microseconds(10);  ///< of samples
  std::string series_file;                            ///< empty: none
  std::string plot_file;                              ///< likewise
  std::vector<std::string> captures;                  ///< "HOST=FILE"
  bool json = false;
};

/// Writes the report to `out` and what else the user asks for to files, and progress to stderr if that is a
/// terminal. The exit code is 0 when the workload was over, or when its time was; 1 when a work request
/// failed or nothing happened any more. The error is about what the user wrote, or a file.
Result<int, Error> run(const RunOptions& options, std::FILE* out);

}  // namespace urnic::experiment
