// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic chaos`: looks for a seed of the adversary with which a program fails.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/command/chaos_trial.h"
#include "tools/command/command.h"

namespace urnic::tools {

/// Adds the command to `app`, and holds its options while the parser fills them in.
class ChaosCommand {
 public:
  ChaosCommand(CLI::App& app, Invocation& invocation);
  ChaosCommand(const ChaosCommand&) = delete;
  ChaosCommand& operator=(const ChaosCommand&) = delete;

 private:
  int run(const Invocation& invocation) const;
  int search(Trials& trials, const std::vector<std::string>& program) const;
  std::string spec_of(std::uint64_t seed, const nic::Behaviors& behaviors) const;
  int report_failure(Trials& trials, const std::vector<std::string>& program, std::uint64_t seed,
                     const TrialEnd& plain, const TrialEnd& failed, std::chrono::milliseconds limit) const;

  std::string for_ = "60s";
  std::string seeds_;
  std::string timeout_;
  std::string spec_;
  bool is_list_ = false;
  bool is_json_ = false;
};

}  // namespace urnic::tools
