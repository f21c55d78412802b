// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "tools/command/command_line.h"
#include "tools/runtime/loader/program_file.h"
#include "verbs_api/fault/likeness.h"

namespace urnic::tools {
namespace {

/// The last command that the words name.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  return *command;
}

/// "fabric link"; empty for `urnic` itself.
std::string path_of(const CLI::App& command) {
  std::string path;
  for (const CLI::App* at = &command; at->get_parent() != nullptr; at = at->get_parent()) {
    path = at->get_name() + (path.empty() ? "" : " ") + path;
  }
  return path;
}

std::string line_of(const CLI::App& command, const std::string& what) {
  const std::string path = path_of(command);
  return fmt::format("{}{} (see 'urnic {}--help')", path.empty() ? "" : path + ": ", what,
                     path.empty() ? "" : path + " ");
}

/// Of the command itself, and of the commands around it whose options may follow it.
std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* at = &command; at != nullptr;
       at = at->get_fallthrough() ? at->get_parent() : nullptr) {
    for (const CLI::Option* option : at->get_options()) {
      const auto some = option_of(*option).names;
      names.insert(names.end(), some.begin(), some.end());
    }
  }
  return names;
}

/// "; near it: --port", or nothing.
std::string near(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string like = verbs_api::names_like(word, views);
  return like.empty() ? like : "; near it: " + like;
}

/// About words that belong to nothing.
std::string unexpected_words(const CLI::App& command, const std::vector<std::string>& words) {
  const std::string& word = words.front();
  const std::string& name = command.get_name();
  if (word.starts_with('-')) {
    const std::string option = word.substr(0, word.find('='));
    return line_of(command,
                   fmt::format("there is no option '{}'{}", option, near(option, options_of(command))));
  }
  if (const auto commands = subcommands_of(command); !commands.empty()) {
    const std::string like = near(word, commands);
    return line_of(
        command, fmt::format("there is no command '{}'{}", word,
                             like.empty() ? fmt::format("; there are {}", fmt::join(commands, ", ")) : like));
  }
  if (name == "run" || name == "doctor") {
    return line_of(command, fmt::format("write '--' before the program: urnic {} {}-- {}", name,
                                        name == "run" ? "[OPTIONS] " : "", fmt::join(words, " ")));
  }
  return line_of(command, fmt::format("'{}' is one word too many", word));
}

/// What people write in the place of an argument: "FILE", or "down|up".
std::string form_of(const CLI::Option& option) {
  const CommandOption known = option_of(option);
  return known.choices.empty() ? known.value : fmt::format("{}", fmt::join(known.choices, "|"));
}

/// About arguments that must be there, and are not. Empty: all are.
std::string missing_argument(const CLI::App& command) {
  std::string first;
  std::string whole = "urnic " + path_of(command);
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string form = form_of(*option);
    if (first.empty() && option->get_required() && option->count() == 0) first = form;
    whole += " " + form;
  }
  return first.empty() ? first : fmt::format("{} is missing; write: {}", first, whole);
}

/// The option that CLI11's message begins with: "--port: 1 required SPEC missing".
const CLI::Option* option_without_value(const CLI::App& command, const CLI::ParseError& error) {
  const std::string_view text = error.what();
  if (error.get_name() != "ArgumentMismatch" || !text.ends_with("missing")) return nullptr;
  const std::string name(text.substr(0, text.find(':')));
  const CLI::Option* option = nullptr;
  for (const CLI::App* at = &command; at != nullptr && option == nullptr; at = at->get_parent()) {
    option = at->get_option_no_throw(name);
  }
  return option;
}

}  // namespace

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  if (const auto words = app.remaining(true); !words.empty()) return unexpected_words(command, words);
  if (const CLI::Option* option = option_without_value(command, error)) {
    const std::string name = option_of(*option).names.back();
    return line_of(command, fmt::format("nothing follows {0}; write {0} {1}", name, form_of(*option)));
  }
  const bool lacks_something = error.get_name() == "RequiredError";
  if (lacks_something && command.get_require_subcommand_min() > command.get_subcommands().size()) {
    return line_of(command, fmt::format("write one of: {}", fmt::join(subcommands_of(command), ", ")));
  }
  const std::string missing = lacks_something ? missing_argument(command) : "";
  return line_of(command, missing.empty() ? error.what() : missing);
}

std::string unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string& word = words.front();
  const std::string like = near(word, subcommands_of(app));
  if (like.empty() && find_program(word)) {
    return line_of(app, fmt::format("there is no command '{}'; the program of that name: urnic run -- {}",
                                    word, fmt::join(words, " ")));
  }
  return line_of(app, fmt::format("there is no command '{}'{}", word, like));
}

std::function<std::string(const std::string&)> whole_number(std::uint64_t least) {
  return [least](const std::string& text) -> std::string {
    errno = 0;
    char* rest = nullptr;
    const std::uint64_t number = std::strtoull(text.c_str(), &rest, 0);
    const bool is_number = !text.empty() && *rest == '\0' && text[0] != '-' && errno == 0;
    if (is_number && number >= least) return {};
    return fmt::format("write a whole number from {} on, not '{}'", least, text);
  };
}

}  // namespace urnic::tools
