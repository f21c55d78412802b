// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic doctor`: what stands in the way of urnic on this host.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class DoctorCommand {
 public:
  DoctorCommand(CLI::App& app, Invocation& invocation);
  DoctorCommand(const DoctorCommand&) = delete;
  DoctorCommand& operator=(const DoctorCommand&) = delete;

 private:
  /// `program`: the words after "--", if any.
  int run(const std::vector<std::string>& program) const;
  int answer() const;

  std::string peer_;
  bool answers_ = false;
  bool json_ = false;
};

}  // namespace urnic::tools
