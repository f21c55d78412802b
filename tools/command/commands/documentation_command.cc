// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/documentation_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "tools/command/command_line.h"
#include "tools/command/completion.h"
#include "tools/command/console.h"
#include "tools/command/manual.h"

namespace urnic::tools {
namespace {

constexpr const char* kCompletionFooter = R"(Packages of urnic install it; otherwise

  source <(urnic completion bash)                                        in ~/.bashrc
  urnic completion zsh >~/.zfunc/_urnic                                  with 'fpath+=~/.zfunc' before compinit in ~/.zshrc
  urnic completion fish >~/.config/fish/completions/urnic.fish)";

using Completion = std::string (*)(const CommandLine&);
const std::map<std::string, Completion> kShells{
    {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

constexpr const char* kManualFooter =
    R"(Packages of urnic install the pages: 'man urnic-run' shows one. Elsewhere, man reads what is printed.

  urnic manual | man -l -           shows urnic(1)
  urnic manual run | man -l -       shows urnic-run(1)
  urnic manual --all share/man1     writes all pages into a folder, which it makes

Exit code: 0, 1 a page could not be written, 2 wrong usage.)";

/// Writes a page; whether that succeeded. Otherwise says why.
bool write_page(const std::filesystem::path& file, const std::string& page) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) return true;
  complain(fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)));
  return false;
}

bool write_all_pages(const CommandLine& tool, const std::filesystem::path& folder) {
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  if (trouble) {
    complain(fmt::format("cannot make {}: {}", folder.string(), trouble.message()));
    return false;
  }
  return write_page(folder / "urnic.1", manual_page(tool, URNIC_VERSION)) &&
         std::ranges::all_of(tool.commands, [&](const CommandLine& command) {
           return write_page(folder / fmt::format("urnic-{}.1", command.name),
                             manual_page(tool, command, URNIC_VERSION));
         });
}

std::string page_of(const CommandLine& tool, const std::string& name) {
  const auto command = std::ranges::find(tool.commands, name, &CommandLine::name);
  return command == tool.commands.end() ? manual_page(tool, URNIC_VERSION)
                                        : manual_page(tool, *command, URNIC_VERSION);
}

}  // namespace

DocumentationCommands::DocumentationCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* const completion =
      app.add_subcommand("completion", "Print the completion of this command line for a shell");
  completion->footer(kCompletionFooter);
  completion
      ->add_option_function<std::string>(
          "shell", [&app](const std::string& shell) { print(kShells.at(shell)(command_line_of(app))); },
          "Which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");

  CLI::App* const manual =
      app.add_subcommand("manual", "Print a manual page: urnic manual [OPTIONS] [COMMAND]");
  manual->footer(kManualFooter);
  CLI::Option* const command =
      manual->add_option("command", command_, "The command; without it, urnic's own page")
          ->type_name("COMMAND");
  manual->add_option("--all", folder_, "Write all pages into this folder instead")
      ->type_name("FOLDER")
      ->excludes(command);
  command->check(CLI::IsMember(subcommands_of(app)));
  manual->callback([this, &app, &invocation] {
    const CommandLine tool = command_line_of(app);
    if (folder_.empty()) {
      print(page_of(tool, command_));
    } else if (!write_all_pages(tool, folder_)) {
      invocation.exit_code = kExitFailure;
    }
  });
}

}  // namespace urnic::tools
