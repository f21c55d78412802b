// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CommandLine: what `urnic` takes on its command line, as data: its manual page and its shell completions are
// made of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace urnic::tools {

struct CommandOption {
  std::vector<std::string> names;    ///< with their dashes; empty for what stands without one (PID, FILE)
  std::string value;                 ///< what its argument is called in --help; empty for a flag
  std::vector<std::string> choices;  ///< all that the argument may be; empty if it may be more
  std::string description;
  bool is_required = false;

  /// Whether the argument is the name of a file.
  bool takes_file() const { return value == "FILE"; }
};

struct CommandLine {
  std::string name;
  std::string description;
  std::string footer;  ///< what --help says below the options, in lines that are to stay as they are
  std::vector<CommandOption> options;
  std::vector<CommandLine> commands;
};

/// What the parser knows of one of its options.
CommandOption option_of(const CLI::Option& option);

/// The names of a command's own commands, those hidden from --help included.
std::vector<std::string> subcommands_of(const CLI::App& command);

/// What the parser knows of itself, without what it hides from --help.
CommandLine command_line_of(const CLI::App& app);

}  // namespace urnic::tools
