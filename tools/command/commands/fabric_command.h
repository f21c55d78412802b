// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic fabric`: the switch between programs.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class FabricCommand {
 public:
  FabricCommand(CLI::App& app, Invocation& invocation);
  FabricCommand(const FabricCommand&) = delete;
  FabricCommand& operator=(const FabricCommand&) = delete;

 private:
  int serve() const;
  int status() const;
  int stop() const;
  int set_link() const;

  std::string name_;
  std::string uplink_;
  std::string topology_;
  std::uint16_t link_mtu_ = 0;
  std::string link_address_;
  std::string link_state_;
  bool json_ = false;
};

}  // namespace urnic::tools
