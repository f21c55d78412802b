// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/command_line.h"

#include <sstream>
#include <utility>

namespace urnic::tools {
namespace {

/// "SIDE:{requester,responder,both}", which is how CLI11 writes an argument with its validators, as name and
/// choices.
void set_argument(CommandOption& option, const std::string& type) {
  option.value = type.substr(0, type.find(':'));
  const auto begin = type.find('{');
  const auto end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string choice; std::getline(list, choice, ',');) option.choices.push_back(choice);
}

}  // namespace

CommandOption option_of(const CLI::Option& option) {
  CommandOption result{.names = {},
                       .value = {},
                       .choices = {},
                       .description = option.get_description(),
                       .is_required = option.get_required()};
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) set_argument(result, option.get_type_name());
  return result;
}

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

CommandLine command_line_of(const CLI::App& app) {
  CommandLine result{.name = app.get_name(),
                     .description = app.get_description(),
                     .footer = app.get_footer(),
                     .options = {},
                     .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) result.options.push_back(option_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) result.commands.push_back(command_line_of(*command));
  }
  return result;
}

}  // namespace urnic::tools
