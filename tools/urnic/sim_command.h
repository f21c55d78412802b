// `urnic sim`: two devices on a hostile network, simulated from seeds.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/sim/runner.h"
#include "tools/urnic/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class SimCommand {
 public:
  SimCommand(CLI::App& app, Invocation& invocation);
  SimCommand(const SimCommand&) = delete;
  SimCommand& operator=(const SimCommand&) = delete;

 private:
  sim::RunnerOptions options_;
};

}  // namespace urnic::tools
