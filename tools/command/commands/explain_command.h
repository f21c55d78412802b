// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic explain`: what a name means that urnic has told.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class ExplainCommand {
 public:
  ExplainCommand(CLI::App& app, Invocation& invocation);
  ExplainCommand(const ExplainCommand&) = delete;
  ExplainCommand& operator=(const ExplainCommand&) = delete;

 private:
  int run() const;

  std::string name_;
};

}  // namespace urnic::tools
