// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic view`: captures as a page for the browser.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/command/command.h"
#include "tools/inspection/view/capture.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class ViewCommand {
 public:
  ViewCommand(CLI::App& app, Invocation& invocation);
  ViewCommand(const ViewCommand&) = delete;
  ViewCommand& operator=(const ViewCommand&) = delete;

 private:
  int run() const;

  std::vector<std::string> files_;
  std::string output_ = "urnic-view.html";
  bool json_ = false;
  view::Range range_;
  check::Choice choice_;
};

}  // namespace urnic::tools
