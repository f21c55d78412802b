// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic stat`: what programs with a NIC are doing.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/command/command.h"

namespace urnic::tools {

/// The command, and what its options say. When the parser calls it, it leaves an exit code in the invocation.
class StatCommand {
 public:
  StatCommand(CLI::App& app, Invocation& invocation);
  StatCommand(const StatCommand&) = delete;
  StatCommand& operator=(const StatCommand&) = delete;

 private:
  int run() const;

  std::vector<std::string> wanted_;
  bool json_ = false;
  double interval_s_ = 1;
};

}  // namespace urnic::tools
