// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic sheet`: headers, opcodes, states and statuses as a page to print.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class SheetCommand {
 public:
  SheetCommand(CLI::App& app, Invocation& invocation);
  SheetCommand(const SheetCommand&) = delete;
  SheetCommand& operator=(const SheetCommand&) = delete;

 private:
  int run() const;

  std::string output_ = "urnic-sheet.html";
  bool json_ = false;
};

}  // namespace urnic::tools
