// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/explain_command.h"

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command/console.h"
#include "tools/conformance/check/findings/rule.h"
#include "tools/teaching/sheet/sheet_words.h"
#include "transport/completion.h"
#include "transport/enum_names.h"
#include "verbs_api/datapath/wc_status.h"
#include "verbs_api/fault/likeness.h"
#include "verbs_api/sanitizer/example.h"
#include "verbs_api/sanitizer/finding.h"

namespace urnic::tools {
namespace {

constexpr const char* kExplainFooter =
    R"(NAME is a finding of the sanitizer ('urnic run --sanitize'), a rule of 'urnic check', or the status of
a completion.

  urnic explain                      lists all
  urnic explain read-without-fence   what is wrong, on which NICs it shows, and wrong and right code
  urnic explain ack-over-gap         what a finding of 'urnic check' says
  urnic explain RETRY_EXC_ERR, or 12 what the status means, and what to look at

Exit code: 0, or 2 for a name that there is not.)";

constexpr std::string_view kStatusPrefix = "IBV_WC_";

using verbs_api::FindingRow;

/// The lines of `text`, each after `margin`.
std::string indented(std::string_view text, std::string_view margin) {
  std::string result;
  while (true) {
    const std::size_t end = text.find('\n');
    result += fmt::format("{}{}\n", margin, text.substr(0, end));
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end + 1);
  }
}

void print(const FindingRow& row) {
  const verbs_api::Example example = verbs_api::example_of(row.finding);
  fmt::print("{} ({} of urnic run --sanitize)\n\n", row.name, name_of(row.level));
  fmt::print("  rule:      {}\n  shows on:  {}\n  do:        {}\n", row.rule, row.shows_on, row.advice);
  fmt::print("\nwrong:\n\n{}\nright:\n\n{}", indented(example.wrong, "  "), indented(example.right, "  "));
}

void print(const check::RuleInfo& rule) {
  fmt::print("{} ({} of urnic check)\n\n  meaning:  {}\n", rule.name, to_string(rule.severity), rule.meaning);
}

/// The status of a completion, as programs know it.
struct Status {
  explicit Status(std::size_t place)
      : value(static_cast<transport::CompletionStatus>(place)),
        name(fmt::format("{}{}", kStatusPrefix, name_of(value))),
        number(static_cast<unsigned>(verbs_api::wc_status(value))),
        words(sheet::words_of(value)) {}

  /// With IBV_WC_ or without, or by its number.
  bool is_named(const std::string& given) const {
    return given == name || fmt::format("{}{}", kStatusPrefix, given) == name ||
           given == std::to_string(number);
  }

  transport::CompletionStatus value;
  std::string name;
  unsigned number;
  sheet::StatusWords words;
};

std::vector<Status> all_statuses() {
  std::vector<Status> statuses;
  for (std::size_t i = 0; i < transport::count_of<transport::CompletionStatus>(); ++i) {
    statuses.emplace_back(i);
  }
  return statuses;
}

void print(const Status& status) {
  fmt::print("{} ({}), the status of a completion\n\n  meaning:  {}\n  look at:  {}\n", status.name,
             status.number, status.words.meaning, status.words.look_at);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const FindingRow& row : verbs_api::all_findings()) names.emplace_back(row.name);
  for (const check::RuleInfo& rule : check::all_rules()) names.emplace_back(rule.name);
  for (const Status& status : all_statuses()) names.push_back(status.name);
  return names;
}

void print_all() {
  fmt::print("Findings of urnic run --sanitize\n\n");
  for (const FindingRow& row : verbs_api::all_findings()) {
    fmt::print("  {:<32} {:<9} {}\n", row.name, name_of(row.level), row.rule);
  }
  fmt::print("\nRules of urnic check\n\n");
  for (const check::RuleInfo& rule : check::all_rules()) {
    fmt::print("  {:<32} {:<9} {}\n", rule.name, to_string(rule.severity), rule.meaning);
  }
  fmt::print("\nStatuses of completions\n\n");
  for (const Status& status : all_statuses()) {
    fmt::print("  {:<32} {:<9} {}\n", status.name, status.number, status.words.meaning);
  }
}

}  // namespace

ExplainCommand::ExplainCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("explain", "Say what a finding, a rule or a status means: urnic explain [NAME]");
  command->footer(kExplainFooter);
  command->add_option("name", name_, "What is to be explained; all names are listed without it")
      ->type_name("NAME");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int ExplainCommand::run() const {
  if (name_.empty()) {
    print_all();
    return 0;
  }
  if (const auto finding = verbs_api::finding_named(name_)) {
    print(row_of(*finding));
    return 0;
  }
  for (const check::RuleInfo& rule : check::all_rules()) {
    if (rule.name != name_) continue;
    print(rule);
    return 0;
  }
  for (const Status& status : all_statuses()) {
    if (!status.is_named(name_)) continue;
    print(status);
    return 0;
  }
  const std::vector<std::string> names = all_names();
  const std::string like =
      verbs_api::names_like(name_, std::vector<std::string_view>(names.begin(), names.end()));
  complain(fmt::format("there is nothing to explain named '{}'{}; 'urnic explain' lists all names", name_,
                       like.empty() ? "" : fmt::format(" (is it {}?)", like)));
  return kExitUsage;
}

}  // namespace urnic::tools
