// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/documentation_command.h"

#include <cstdio>
#include <map>
#include <string>

#include "tools/command/command_line.h"
#include "tools/command/completion.h"
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

}  // namespace

void add_documentation_commands(CLI::App& app) {
  CLI::App* const completion =
      app.add_subcommand("completion", "Print the completion of this command line for a shell");
  completion->footer(kCompletionFooter);
  CLI::App* const manual =
      app.add_subcommand("manual", "Print the manual page of urnic: urnic manual | man -l -");
  manual->callback([&app] { print(manual_page(command_line_of(app), URNIC_VERSION)); });
  completion
      ->add_option_function<std::string>(
          "shell", [&app](const std::string& shell) { print(kShells.at(shell)(command_line_of(app))); },
          "Which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
}

}  // namespace urnic::tools
