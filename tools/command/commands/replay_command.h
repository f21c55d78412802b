// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic replay`: one side of a captured connection, played by our own stack.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class ReplayCommand {
 public:
  ReplayCommand(CLI::App& app, Invocation& invocation);
  ReplayCommand(const ReplayCommand&) = delete;
  ReplayCommand& operator=(const ReplayCommand&) = delete;

 private:
  int run() const;

  std::vector<std::string> files_;
  std::string queue_pairs_;
  std::string side_ = "both";
  bool json_ = false;
  bool ladder_ = false;
  bool memory_changes_ = false;
  bool deviations_ = false;
};

}  // namespace urnic::tools
