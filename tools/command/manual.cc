// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cstddef>
#include <vector>

#include "tools/command/help_text.h"
#include "verbs_api/config/variable_table.h"

namespace urnic::tools {
namespace {

/// Text that roff prints as it is: some characters have a meaning there or become others in print, and a
/// point has one at the beginning of a line.
std::string literal(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char character : text) {
    if (begins_line && character == '.') result += "\\&";
    begins_line = character == '\n';
    switch (character) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '^':
        result += "\\(ha";
        break;
      default:
        result += character;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + literal(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + literal(text) + "\\fR";
}

std::string with_tag(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, text);
}

/// "Run a program: urnic run -- PROGRAM" is a sentence and the way to write it.
struct Description {
  std::string sentence;
  std::string usage;  ///< may be empty
};

Description description_of(const CommandLine& command) {
  constexpr std::string_view kSeparator = ": urnic ";
  const std::size_t end = command.description.find(kSeparator);
  if (end == std::string::npos) return {.sentence = command.description, .usage = {}};
  return {.sentence = command.description.substr(0, end), .usage = command.description.substr(end + 2)};
}

std::string name_of_page(const CommandLine& tool, const CommandLine& command) {
  return tool.name + "-" + command.name;
}

/// Words of a command line are neither hyphenated nor moved apart. Since groff 1.23 each paragraph begins
/// again with what AD and HY say.
std::string header(const std::string& page, std::string_view version) {
  std::string title;
  for (const char character : page) {
    title += static_cast<char>(std::toupper(static_cast<unsigned char>(character)));
  }
  return fmt::format(".ds AD l\n.nr HY 0\n.TH {} 1 \"\" \"urnic {}\" \"User Commands\"\n.nh\n.ad l\n",
                     literal(title), version);
}

std::string begun_large(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

/// As whatis(1) wants it.
std::string name_section(std::string_view page, std::string sentence) {
  sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  return fmt::format(".SH NAME\n{} \\- {}\n", literal(page), literal(sentence));
}

/// What stands for the argument; CLI11 says TEXT where it has no name for it.
std::string value_of(const CommandOption& option) {
  return option.value == "TEXT" ? fmt::format("{}", fmt::join(option.choices, "|")) : option.value;
}

std::string paragraph_of(const CommandOption& option) {
  const std::string value = value_of(option);
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  std::string tag = fmt::format("{}", fmt::join(names, ", "));
  if (names.empty()) {
    tag = italic(value);
  } else if (!value.empty()) {
    const bool may_be_left_out = value.starts_with('[');  // "--sanitize[=SPEC]"
    tag += (may_be_left_out ? "" : " ") + italic(value);
  }
  std::string text = literal(option.description);
  if (!option.choices.empty()) text += literal(fmt::format(" ({})", fmt::join(option.choices, ", ")));
  return with_tag(tag, text);
}

std::string paragraphs_of(const std::vector<CommandOption>& options) {
  std::string result;
  for (const CommandOption& option : options) result += paragraph_of(option);
  return result;
}

/// "urnic fabric link [OPTIONS] ADDRESS down|up", from the options alone.
std::string usage_of(const std::string& words, const CommandLine& command) {
  std::string result = words + " [OPTIONS]";
  for (const CommandOption& option : command.options) {
    if (!option.names.empty()) continue;
    const std::string value = value_of(option);
    result += option.is_required ? " " + value : " [" + value + "]";
  }
  return result;
}

std::string synopsis_line(std::string_view words) {
  return fmt::format(".B {}\n.br\n", literal(words));
}

std::string synopsis_of(const CommandLine& tool, const CommandLine& command) {
  const std::string words = tool.name + " " + command.name;
  if (command.commands.empty()) {
    const std::string usage = description_of(command).usage;
    return synopsis_line(usage.empty() ? usage_of(words, command) : usage);
  }
  const bool runs_by_itself = command.options.size() > 1;  // one is --help
  std::string result = runs_by_itself ? synopsis_line(usage_of(words, command)) : "";
  for (const CommandLine& inner : command.commands) {
    result += synopsis_line(usage_of(words + " " + inner.name, inner));
  }
  return result;
}

std::string text_of(const HelpPart& part) {
  std::string result;
  if (!part.paragraph.empty()) result += fmt::format(".PP\n{}\n", literal(part.paragraph));
  for (const HelpItem& item : part.items) {
    result += item.meaning.empty() ? fmt::format(".PP\n.nf\n{}\n.fi\n", bold(item.term))
                                   : with_tag(bold(item.term), literal(item.meaning));
  }
  if (!part.table.empty()) result += fmt::format(".PP\n.nf\n{}\n.fi\n", literal(part.table));
  return result;
}

std::string text_of(const std::vector<HelpPart>& parts) {
  std::string result;
  for (const HelpPart& part : parts) result += text_of(part);
  return result;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string environment_text() {
  std::string result =
      ".PP\nOptions are written into variables of the environment, which can be set by hand as well. "
      "Of device N a variable is NAME_N, or NAME where that is not set.\n";
  for (const verbs_api::VariableEntry& variable : verbs_api::variable_table()) {
    if (variable.by_default == nullptr) continue;
    result += with_tag(bold(variable.name) + "=" + italic(variable.value),
                       literal(fmt::format("{} By default: {}.", variable.meaning, variable.by_default)));
  }
  return result;
}

/// All pages but the one that says it.
std::string see_also(const CommandLine& tool, const CommandLine* reader) {
  std::vector<std::string> pages;
  if (reader != nullptr) pages.push_back(bold(tool.name) + "(1)");
  for (const CommandLine& command : tool.commands) {
    if (reader == nullptr || command.name != reader->name) {
      pages.push_back(bold(name_of_page(tool, command)) + "(1)");
    }
  }
  return fmt::format("{}\n.PP\nPages with the details are in share/doc/urnic.\n", fmt::join(pages, ",\n"));
}

}  // namespace

std::string manual_page(const CommandLine& tool, std::string_view version) {
  std::string result = header(tool.name, version) + name_section(tool.name, "a software RDMA NIC");
  result += section("SYNOPSIS", synopsis_line("urnic COMMAND [OPTIONS] ...") +
                                    synopsis_line("urnic run [OPTIONS] -- PROGRAM ARGUMENTS..."));
  result += section("DESCRIPTION", literal(tool.description) + "\n");
  result += section("OPTIONS", paragraphs_of(tool.options));
  std::string commands = ".PP\nEach command has a page of its own.\n";
  std::string examples;
  for (const CommandLine& command : tool.commands) {
    commands += with_tag(bold(name_of_page(tool, command)) + "(1)", literal(command.description));
    if (command.name == "run") examples = text_of(read_help_text(command.footer).examples);
  }
  result += section("COMMANDS", commands);
  result += section("EXAMPLES", examples);
  result += section("ENVIRONMENT", fmt::format("{}(1) lists the variables that programs with a NIC read.\n",
                                               bold("urnic-run")));
  return result + section("SEE ALSO", see_also(tool, nullptr));
}

std::string manual_page(const CommandLine& tool, const CommandLine& command, std::string_view version) {
  const std::string page = name_of_page(tool, command);
  const Description description = description_of(command);
  const HelpText help = read_help_text(command.footer);
  std::string result = header(page, version) + name_section(page, description.sentence);
  result += section("SYNOPSIS", synopsis_of(tool, command));
  // A page without more words says again what its name is about.
  const std::string text = text_of(help.description);
  result += section("DESCRIPTION", text.empty() ? literal(description.sentence) + ".\n" : text);
  result += section("OPTIONS", paragraphs_of(command.options));
  std::string commands;
  for (const CommandLine& inner : command.commands) {
    commands += fmt::format(".SS {} {} {}\n{}.\n", literal(tool.name), literal(command.name),
                            literal(inner.name), literal(inner.description));
    commands += paragraphs_of(inner.options);
  }
  result += section("COMMANDS", commands);
  result += section("EXAMPLES", text_of(help.examples));
  result += section("EXIT STATUS", help.exit_code.empty() ? "" : literal(begun_large(help.exit_code)) + "\n");
  if (command.name == "run") result += section("ENVIRONMENT", environment_text());
  return result + section("SEE ALSO", see_also(tool, &command));
}

}  // namespace urnic::tools
