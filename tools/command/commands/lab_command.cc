// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/lab_command.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <filesystem>
#include <system_error>

#include "tools/command/console.h"
#include "tools/command/launch.h"
#include "tools/command/usage_error.h"
#include "tools/runtime/loader/program_file.h"

namespace urnic::tools {
namespace {

constexpr const char* kInterpreter = "python3";

constexpr const char* kLabFooter =
    R"(Each lab explains, asks what you expect, runs real programs, and shows what their packets say. The programs are yours: a lab has
exercises, files with gaps that you fill in.

  urnic lab                    which labs there are
  urnic lab 1                  work on lab 1, in ./urnic-lab-1; later: go on there
  urnic lab 1 --check          judge your files without asking
  urnic lab 1 --check --solution --json      for those who teach: does the lab work on this machine?
  urnic lab 1 --solution --folder solved     for those who teach: the lab with its gaps filled in

Labs need python3 (3.11 or newer), make, a C compiler, and the headers of libibverbs; no root, and no network.

Exit code: 0 finished, or all is right; 1 not finished, or something is not right yet; 2 wrong usage; 3 this machine lacks something.)";

}  // namespace

LabCommand::LabCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("lab", "Learn RDMA with your own packets: urnic lab [NUMBER] [OPTIONS]");
  command->footer(kLabFooter);
  command->add_option("number", number_, "The lab; without it, the list of labs")
      ->check(whole_number(1))
      ->type_name("NUMBER");
  command->add_option("--folder", folder_, "Where the lab's files are; ./urnic-lab-NUMBER by default")
      ->type_name("FOLDER");
  command->add_flag("--check", check_, "Carry out all experiments without asking, and say what is right");
  command->add_flag("--solution", solution_,
                    "Check the solutions in place of your files; alone: write them into a new folder");
  command->add_flag("--json", json_, "The list, or what --check found, as JSON");
  command->add_flag("--restart", restart_, "Begin with the first step again; files stay");
  command->add_flag("--open", open_, "Open the picture in a browser at the end");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int LabCommand::run() const {
  std::error_code code;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", code);
  const auto runner = executable.parent_path().parent_path() / "share" / "urnic" / "labs" / "lab.py";
  if (code || !std::filesystem::exists(runner, code)) {
    complain(fmt::format("lab: {} is missing", runner.string()));
    return kExitFailure;
  }
  if (!find_program(kInterpreter)) {
    complain("lab: python3 is not installed; labs need it (Debian: apt install python3)");
    return kExitFailure;
  }
  setenv("URNIC", executable.c_str(), 1);
  std::vector<std::string> words{kInterpreter, runner.string()};
  for (std::string& argument : arguments()) words.push_back(std::move(argument));
  return execute(words);
}

std::vector<std::string> LabCommand::arguments() const {
  std::vector<std::string> result;
  if (number_) result.push_back(std::to_string(*number_));
  if (!folder_.empty()) result.insert(result.end(), {"--folder", folder_});
  if (check_) result.emplace_back("--check");
  if (solution_) result.emplace_back("--solution");
  if (json_) result.emplace_back("--json");
  if (restart_) result.emplace_back("--restart");
  if (open_) result.emplace_back("--open");
  return result;
}

}  // namespace urnic::tools
