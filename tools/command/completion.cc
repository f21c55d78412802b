// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace urnic::tools {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Between single quotes, as all three shells understand it.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", R"('\'')") + "'";
}

/// What a menu has room for: the first part of the first sentence.
std::string short_form(const std::string& description) {
  std::size_t end = description.size();
  for (const char* const separator : {"; ", ". ", ": ", ", e.g."}) {
    end = std::min(end, description.find(separator));
  }
  return description.substr(0, end);
}

std::vector<std::string> names_of(const std::vector<CommandLine>& commands) {
  std::vector<std::string> names;
  for (const CommandLine& command : commands) names.push_back(command.name);
  return names;
}

/// All words that begin with a dash, are commands, or arguments out of a list.
std::string words_of(const CommandLine& command) {
  std::vector<std::string> words;
  for (const CommandOption& option : command.options) {
    const auto& some = option.names.empty() ? option.choices : option.names;
    words.insert(words.end(), some.begin(), some.end());
  }
  const auto commands = names_of(command.commands);
  words.insert(words.end(), commands.begin(), commands.end());
  return fmt::format("{}", fmt::join(words, " "));
}

bool takes_files(const CommandLine& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const CommandOption& option) { return option.names.empty() && option.takes_file(); });
}

/// The lines of bash's case statement about what stands before the word: an option that wants an argument.
std::string bash_arguments(const CommandLine& command) {
  std::string result;
  for (const CommandOption& option : command.options) {
    if (option.names.empty() || option.value.empty()) continue;
    std::string answer = "return";
    if (option.takes_file()) answer = "compopt -o default; return";
    if (!option.choices.empty()) {
      answer = fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\")); return",
                           quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    }
    result += fmt::format("        {}) {} ;;\n", fmt::join(option.names, "|"), answer);
  }
  return result.empty() ? "" : "      case $before in\n" + result + "      esac\n";
}

std::string zsh_specification(const CommandOption& option) {
  std::string argument;
  if (option.takes_file()) {
    argument = ":file:_files";
  } else if (!option.choices.empty()) {
    argument = fmt::format(":{}:({})", option.value, fmt::join(option.choices, " "));
  } else if (!option.value.empty()) {
    argument = fmt::format(":{}: ", option.value);
  }
  if (option.names.empty()) return quoted("*" + argument);
  const std::string text = replaced(replaced(short_form(option.description), "[", "("), "]", ")");
  std::vector<std::string> specifications;
  for (const std::string& name : option.names) {
    specifications.push_back(quoted(fmt::format("{}[{}]{}", name, text, argument)));
  }
  return fmt::format("{}", fmt::join(specifications, " "));
}

std::string fish_line(const std::string& condition, const CommandOption& option) {
  std::string result = fmt::format("complete -c urnic -n {}", quoted(condition));
  for (const std::string& name : option.names) {
    result += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_file()) {
    result += " -r -F";
  } else if (!option.choices.empty()) {
    result += fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  } else if (!option.value.empty()) {
    result += " -x";
  }
  return fmt::format("{} -d {}\n", result, quoted(short_form(option.description)));
}

}  // namespace

std::string bash_completion(const CommandLine& tool) {
  std::string cases;
  for (const CommandLine& command : tool.commands) {
    cases += fmt::format("    {})\n{}      words={}\n", command.name, bash_arguments(command),
                         quoted(words_of(command)));
    if (takes_files(command)) cases += "      compopt -o default\n";
    cases += "      ;;\n";
  }
  constexpr const char* kScript = R"(# bash completion of urnic
_urnic() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command="" words="" at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [ "${{COMP_WORDS[at]}}" = -- ]; then
      # A program of its own, with the completion that it has.
      if declare -F _command_offset >/dev/null; then
        _command_offset $((at + 1))
      elif [ $((at + 1)) -eq "$COMP_CWORD" ]; then
        COMPREPLY=($(compgen -c -- "$word"))
      else
        compopt -o default
      fi
      return
    fi
    case ${{COMP_WORDS[at]}} in -*) ;; *) [ -n "$command" ] || command=${{COMP_WORDS[at]}} ;; esac
  done
  case $command in
    "") words={} ;;
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _urnic urnic
)";
  return fmt::format(kScript, quoted(words_of(tool)), cases);
}

std::string zsh_completion(const CommandLine& tool) {
  std::string commands;
  std::string cases;
  for (const CommandLine& command : tool.commands) {
    commands += fmt::format("    {}\n", quoted(command.name + ":" + short_form(command.description)));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const CommandOption& option : command.options) cases += " \\\n        " + zsh_specification(option);
    if (!command.commands.empty()) {
      cases +=
          " \\\n        " + quoted(fmt::format("1::what:({})", fmt::join(names_of(command.commands), " ")));
    }
    cases += "\n      ;;\n";
  }
  constexpr const char* kScript = R"(#compdef urnic
# zsh completion of urnic
_urnic() {{
  local -a commands
  local separator=${{words[(i)--]}}
  if (( separator < CURRENT )); then
    # A program of its own, with the completion that it has.
    shift $separator words
    (( CURRENT -= separator ))
    _normal
    return
  fi
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT -= 1 ))
  case $words[1] in
{}  esac
}}
if [ "$funcstack[1]" = _urnic ]; then _urnic "$@"; else compdef _urnic urnic; fi
)";
  return fmt::format(kScript, commands, cases);
}

std::string fish_completion(const CommandLine& tool) {
  std::string result = "# fish completion of urnic\ncomplete -c urnic -f\n";
  for (const CommandOption& option : tool.options) result += fish_line("__fish_use_subcommand", option);
  for (const CommandLine& command : tool.commands) {
    result += fmt::format("complete -c urnic -n '__fish_use_subcommand' -a {} -d {}\n", command.name,
                          quoted(short_form(command.description)));
    const std::string inside = "__fish_seen_subcommand_from " + command.name;
    for (const CommandOption& option : command.options) {
      if (!option.names.empty()) {
        result += fish_line(inside, option);
      } else if (option.takes_file()) {
        result += fmt::format("complete -c urnic -n {} -F\n", quoted(inside));
      } else if (!option.choices.empty()) {
        result += fmt::format("complete -c urnic -n {} -a {}\n", quoted(inside),
                              quoted(fmt::format("{}", fmt::join(option.choices, " "))));
      }
    }
    for (const CommandLine& inner : command.commands) {
      result += fmt::format("complete -c urnic -n {} -a {} -d {}\n", quoted(inside), inner.name,
                            quoted(short_form(inner.description)));
    }
  }
  // The program and its arguments come after "--", or after no option at all.
  result +=
      "complete -c urnic -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand "
      "--fcs-skip=2)'\n";
  return result;
}

}  // namespace urnic::tools
