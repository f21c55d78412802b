// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/explain_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tools/command/console.h"
#include "tools/teaching/explain/topic.h"
#include "verbs_api/fault/likeness.h"

namespace urnic::tools {
namespace {

using explain::Chapter;
using explain::Topic;

constexpr const char* kExplainFooter =
    R"(NAME is what urnic calls a thing by: a finding of the sanitizer ('urnic run --sanitize'), what differs
between NICs ('urnic personalities'), a behavior of the adversary ('urnic chaos --list'), a rule of 'urnic
check', the status of a completion, or a vendor_err that a card gives.

  urnic explain                      lists all
  urnic explain read-without-fence   what is wrong, on which NICs it shows, and wrong and right code
  urnic explain send-room            what each NIC does, from where that is known, and what to do
  urnic explain late-payload         by which rule a NIC may do so, and what fails then
  urnic explain ack-over-gap         what a finding of 'urnic check' says
  urnic explain RETRY_EXC_ERR, or 12 what the status means, and what to look at
  urnic explain 0x81                 which card says it, and why

Exit code: 0, or 2 for a name that there is not.)";

void print_list(const std::vector<Chapter>& chapters) {
  for (const Chapter& chapter : chapters) {
    fmt::print("{}{}\n\n", &chapter == &chapters.front() ? "" : "\n", chapter.title);
    for (const Topic& topic : chapter.topics) {
      fmt::print("  {:<32} {:<9} {}\n", topic.name, topic.kind, topic.summary);
    }
  }
}

bool is_named(const Topic& topic, const std::string& name) {
  return topic.name == name || std::ranges::find(topic.other_names, name) != topic.other_names.end();
}

}  // namespace

ExplainCommand::ExplainCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("explain", "Say what a name that urnic has told means: urnic explain [NAME]");
  command->footer(kExplainFooter);
  command->add_option("name", name_, "What is to be explained; all names are listed without it")
      ->type_name("NAME");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int ExplainCommand::run() const {
  const std::vector<Chapter> chapters = explain::all_chapters();
  if (name_.empty()) {
    print_list(chapters);
    return 0;
  }
  std::vector<std::string_view> names;
  for (const Chapter& chapter : chapters) {
    for (const Topic& topic : chapter.topics) {
      names.push_back(topic.name);
      if (!is_named(topic, name_)) continue;
      fmt::print("{}", topic.text);
      return 0;
    }
  }
  const std::string like = verbs_api::names_like(name_, names);
  complain(fmt::format("there is nothing to explain named '{}'{}; 'urnic explain' lists all names", name_,
                       like.empty() ? "" : fmt::format(" (is it {}?)", like)));
  return kExitUsage;
}

}  // namespace urnic::tools
