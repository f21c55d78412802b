// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic personalities`: which NICs urnic can be like, in what, and from where that is known.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class PersonalitiesCommand {
 public:
  PersonalitiesCommand(CLI::App& app, Invocation& invocation);
  PersonalitiesCommand(const PersonalitiesCommand&) = delete;
  PersonalitiesCommand& operator=(const PersonalitiesCommand&) = delete;

 private:
  int run() const;

  std::string name_;
  bool json_ = false;
};

}  // namespace urnic::tools
