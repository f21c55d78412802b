// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace urnic::tools {
namespace {

/// Text that roff prints as it is: backslashes and dashes have a meaning there, and so have a point or a
/// quote that begin a line.
std::string literal(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char character : text) {
    if (begins_line && (character == '.' || character == '\'')) result += "\\&";
    if (character == '\\') {
      result += "\\e";
    } else if (character == '-') {
      result += "\\-";
    } else {
      result += character;
    }
    begins_line = character == '\n';
  }
  return result;
}

std::string paragraph_of(const CommandOption& option) {
  std::string heading = fmt::format("\\fB{}\\fR", fmt::join(option.names, "\\fR, \\fB"));
  if (option.names.empty()) {
    heading = fmt::format("\\fI{}\\fR", option.value);
  } else if (!option.value.empty()) {
    heading += fmt::format(" \\fI{}\\fR", option.value);
  }
  std::string text = literal(option.description);
  if (!option.choices.empty()) text += literal(fmt::format(" ({})", fmt::join(option.choices, ", ")));
  std::string dashed;
  for (const char character : heading) dashed += character == '-' ? "\\-" : std::string(1, character);
  return fmt::format(".TP\n{}\n{}\n", dashed, text);
}

std::string body_of(const CommandLine& command) {
  std::string result;
  for (const CommandOption& option : command.options) result += paragraph_of(option);
  for (const CommandLine& inner : command.commands) {
    result += fmt::format(".TP\n\\fB{}\\fR\n{}\n", literal(inner.name), literal(inner.description));
  }
  // Its lines are laid out for a terminal.
  if (!command.footer.empty()) result += fmt::format(".PP\n.nf\n{}\n.fi\n", literal(command.footer));
  return result;
}

}  // namespace

std::string manual_page(const CommandLine& tool, std::string_view version) {
  std::string result = fmt::format(".TH URNIC 1 \"\" \"urnic {}\" \"User Commands\"\n", version);
  result += fmt::format(".SH NAME\nurnic \\- {}\n", "a software RDMA NIC");
  result +=
      ".SH SYNOPSIS\n.B urnic\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n.br\n.B urnic run\n[\\fIOPTIONS\\fR] "
      "\\-\\- \\fIPROGRAM ARGUMENTS\\fR...\n";
  result += fmt::format(".SH DESCRIPTION\n{}\n", literal(tool.description));
  result += ".SH OPTIONS\n";
  for (const CommandOption& option : tool.options) result += paragraph_of(option);
  result += ".SH COMMANDS\n";
  for (const CommandLine& command : tool.commands) {
    result += fmt::format(".SS urnic {}\n{}\n", literal(command.name), literal(command.description));
    result += body_of(command);
  }
  return result;
}

}  // namespace urnic::tools
