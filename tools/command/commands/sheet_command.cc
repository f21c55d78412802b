// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/sheet_command.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/command/console.h"
#include "tools/teaching/sheet/sheet_data.h"
#include "tools/teaching/sheet/sheet_page.h"

namespace urnic::tools {
namespace {

constexpr const char* kSheetFooter =
    R"(Makes one HTML file to print on A4 or to read on a screen: the headers bit by bit, all opcodes, the syndromes and times of answers, the
states of a queue pair with what each transition needs, and the statuses of completions. All of it comes from the tables that
urnic itself works with.

  urnic sheet                        writes urnic-sheet.html; print it from a browser
  urnic sheet --json | jq .opcodes   for programs

Exit code: 0 the page was made, 2 the file could not be written, or wrong usage.)";

int write_to_stdout(const std::string& text) {
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return is_whole && std::fflush(stdout) == 0 ? 0 : kExitUsage;
}

}  // namespace

SheetCommand::SheetCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "sheet", "Print a sheet of headers, opcodes, states and statuses: urnic sheet [OPTIONS]");
  command->footer(kSheetFooter);
  command->add_option("-o,--output", output_, "Where the page goes; - is the standard output")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_flag("--json", json_, "Print what the page has as JSON, for programs");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int SheetCommand::run() const {
  const nlohmann::ordered_json data = sheet::sheet_data();
  if (json_) return write_to_stdout(data.dump(1) + "\n");
  const std::string page = sheet::page_of(data);
  if (output_ == "-") return write_to_stdout(page);
  std::ofstream out(output_, std::ios::binary | std::ios::trunc);
  if (!out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    complain(fmt::format("cannot write {}: {}; -o FILE names another file", output_, std::strerror(errno)));
    return kExitUsage;
  }
  fmt::print("{}: print it from a browser\n", output_);
  return 0;
}

}  // namespace urnic::tools
