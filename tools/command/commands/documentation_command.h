// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic completion` and `urnic manual`: what is made of the options that the tool has.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds both commands to `app`, whose other commands are there already and which outlives the parse, and
/// holds their options while the parser fills them in.
class DocumentationCommands {
 public:
  DocumentationCommands(CLI::App& app, Invocation& invocation);
  DocumentationCommands(const DocumentationCommands&) = delete;
  DocumentationCommands& operator=(const DocumentationCommands&) = delete;

 private:
  std::string command_;
  std::string folder_;
};

}  // namespace urnic::tools
