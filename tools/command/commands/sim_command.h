// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic sim`: devices on a hostile network, simulated from seeds, or a workload on a network from a file.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/command/command.h"
#include "tools/simulation/experiment/run.h"
#include "tools/simulation/seeds/runner.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class SimCommand {
 public:
  SimCommand(CLI::App& app, Invocation& invocation);
  SimCommand(const SimCommand&) = delete;
  SimCommand& operator=(const SimCommand&) = delete;

 private:
  void add_seed_options(CLI::App& command);
  void add_experiment_options(CLI::App& command);

  sim::RunnerOptions options_;
  experiment::RunOptions experiment_;
};

}  // namespace urnic::tools
