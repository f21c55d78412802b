// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic lab`: teaching labs. The labs and their runner are Python, below tools/teaching/lab; this finds and
// starts them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class LabCommand {
 public:
  LabCommand(CLI::App& app, Invocation& invocation);
  LabCommand(const LabCommand&) = delete;
  LabCommand& operator=(const LabCommand&) = delete;

 private:
  /// Becomes the runner; returns only when that fails.
  int run() const;
  /// What the runner gets of the command line.
  std::vector<std::string> arguments() const;

  std::optional<unsigned> number_;
  std::string folder_;
  bool check_ = false;
  bool solution_ = false;
  bool json_ = false;
  bool restart_ = false;
  bool open_ = false;
};

}  // namespace urnic::tools
