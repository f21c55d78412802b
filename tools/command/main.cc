// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// `urnic`: runs programs with a software RDMA NIC, and looks into one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/command/command.h"
#include "tools/command/command_line.h"
#include "tools/command/commands/chaos_command.h"
#include "tools/command/commands/check_command.h"
#include "tools/command/commands/conform_command.h"
#include "tools/command/commands/doctor_command.h"
#include "tools/command/commands/documentation_command.h"
#include "tools/command/commands/explain_command.h"
#include "tools/command/commands/fabric_command.h"
#include "tools/command/commands/host_command.h"
#include "tools/command/commands/lab_command.h"
#include "tools/command/commands/personalities_command.h"
#include "tools/command/commands/replay_command.h"
#include "tools/command/commands/run_command.h"
#include "tools/command/commands/sheet_command.h"
#include "tools/command/commands/sim_command.h"
#include "tools/command/commands/stat_command.h"
#include "tools/command/commands/view_command.h"
#include "tools/command/console.h"
#include "tools/command/overview.h"
#include "tools/command/usage_error.h"
#include "tools/command/version.h"

namespace urnic::tools {
namespace {

bool is_command(const CLI::App& app, const std::string& word) {
  return std::ranges::count(subcommands_of(app), word) != 0;
}

int main_of(const std::vector<std::string>& arguments) {
  CLI::App app("A software RDMA NIC: programs written for libibverbs run on it, and it speaks RoCEv2.",
               "urnic");
  CLI::Option* const as_json =
      app.add_flag("--json")->description("With --version: one JSON object, for programs");
  as_json->needs(app.set_version_flag(
      "--version",
      [as_json] { return as_json->count() > 0 ? json_of(this_version()).dump(2) : text_of(this_version()); },
      "Print version, commit, build, and what this processor lets it do"));
  app.require_subcommand(1);
  app.footer("'urnic COMMAND --help' tells more, with examples.");

  // We never look at the words after "--": they are another program's.
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  Invocation invocation;
  if (separator != arguments.end()) invocation.program.assign(separator + 1, arguments.end());
  add_run_command(app, invocation);
  const ChaosCommand chaos_command(app, invocation);
  const FabricCommand fabric_command(app, invocation);
  const HostCommand host_command(app, invocation);
  const CheckCommand check_command(app, invocation);
  const ConformCommand conform_command(app, invocation);
  const ViewCommand view_command(app, invocation);
  const ExplainCommand explain_command(app, invocation);
  const LabCommand lab_command(app, invocation);
  const SheetCommand sheet_command(app, invocation);
  const PersonalitiesCommand personalities_command(app, invocation);
  const ReplayCommand replay_command(app, invocation);
  const SimCommand sim_command(app, invocation);
  const StatCommand stat_command(app, invocation);
  const DoctorCommand doctor_command(app, invocation);
  const DocumentationCommands documentation_commands(app, invocation);

  std::vector<std::string> own(arguments.begin(), separator);
  if (arguments.empty()) {
    std::fputs(overview().c_str(), stderr);
    return kExitUsage;
  }
  if (own.empty()) {
    complain("write a command before '--', such as: urnic run -- PROGRAM (see 'urnic --help')");
    return kExitUsage;
  }
  if (own.front()[0] != '-' && !is_command(app, own.front())) {
    complain(unknown_command(app, own));
    return kExitUsage;
  }
  std::reverse(own.begin(), own.end());  // as CLI11 wants them
  try {
    app.parse(own);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // help and version
    }
    complain(usage_error(app, error));
    return kExitUsage;
  }
  return invocation.exit_code;
}

}  // namespace
}  // namespace urnic::tools

int main(int argc, char** argv) {
  return urnic::tools::main_of({argv + 1, argv + argc});
}
