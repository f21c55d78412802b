// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic host`: the NIC that the programs of a host share.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class HostCommand {
 public:
  HostCommand(CLI::App& app, Invocation& invocation);
  HostCommand(const HostCommand&) = delete;
  HostCommand& operator=(const HostCommand&) = delete;

 private:
  int status() const;
  int stop() const;

  bool json_ = false;
};

}  // namespace urnic::tools
