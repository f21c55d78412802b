// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic check`: verdicts on captures of RoCEv2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/command/command.h"
#include "tools/conformance/check/checker.h"
#include "tools/conformance/check/choice.h"
#include "tools/conformance/check/congestion/policy.h"
#include "tools/conformance/check/findings/makers.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class CheckCommand {
 public:
  CheckCommand(CLI::App& app, Invocation& invocation);
  CheckCommand(const CheckCommand&) = delete;
  CheckCommand& operator=(const CheckCommand&) = delete;

 private:
  int run() const;
  check::CheckOptions options() const;
  int judge(const std::string& file, nlohmann::json& reports) const;
  int judge_interface(nlohmann::json& reports) const;
  /// Ends the checking and reports. Returns the exit code.
  int report(const std::string& name, check::Checker& checker, const std::string& damage,
             nlohmann::json& reports) const;

  std::vector<std::string> files_;
  std::string interface_;
  bool json_ = false;
  check::Makers makers_ = check::Makers::kEvery;
  bool lossy_ = false;
  bool ladder_ = false;
  bool rules_ = false;
  std::uint32_t path_mtu_ = 0;
  std::size_t silences_ = 5;
  check::Choice choice_;
  check::CongestionPolicy congestion_;
  check::UdpPorts udp_ports_;
};

}  // namespace urnic::tools
