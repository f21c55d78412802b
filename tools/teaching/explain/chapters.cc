// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The chapters about what `urnic run` and `urnic check` tell by name.
#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "nic/adversary/behavior.h"
#include "nic/personality/table.h"
#include "tools/conformance/check/findings/rule.h"
#include "tools/teaching/explain/topic.h"
#include "verbs_api/sanitizer/example.h"
#include "verbs_api/sanitizer/finding.h"

namespace urnic::explain {
namespace {

using nic::Cell;
using nic::Column;
using nic::Row;
using nic::Standing;

Topic topic_of(const verbs_api::FindingRow& row) {
  const std::string text = fmt::format("{} ({} of urnic run --sanitize)\n\n", row.name, name_of(row.level)) +
                           labelled("rule", row.rule) + labelled("shows on", row.shows_on) +
                           labelled("do", row.advice) + code_text(verbs_api::example_of(row.finding));
  return {.name = std::string(row.name),
          .kind = std::string(name_of(row.level)),
          .summary = std::string(row.rule),
          .text = text};
}

/// From where the value of a cell is known.
std::string standing_of(const Cell& cell) {
  switch (cell.standing) {
    case Standing::kOwn:
      return {};
    case Standing::kUnknown:
      return "unknown: as by default";
    case Standing::kAs:
      return fmt::format("as {}", name_of(static_cast<Column>(cell.value)));
    case Standing::kSmallest:
      return std::string(cell.source);
    default:
      return fmt::format("{}: {}", name_of(cell.standing), cell.source);
  }
}

std::string cells_of(const Row& row) {
  std::string text;
  for (std::size_t i = 0; i < nic::kColumnCount; ++i) {
    const auto column = static_cast<Column>(i);
    const std::string standing = standing_of(row.cells[i]);
    text += fmt::format("  {:<10} {}{}\n", name_of(column), row.words(value_of(row, column)),
                        standing.empty() ? "" : fmt::format(" ({})", standing));
  }
  return text;
}

Topic topic_of(const Row& row, std::string summary) {
  const std::string text = fmt::format("{} (differs between NICs: urnic run --like)\n\n", row.name) +
                           labelled("meaning", row.meaning) + fmt::format("\n{}\n", cells_of(row)) +
                           advice_text(find_advice(advice_on_personalities(), row.name));
  return {.name = std::string(row.name), .kind = "like", .summary = std::move(summary), .text = text};
}

Topic topic_of(const nic::NotImitated& row) {
  const std::string text =
      fmt::format("{} (differs between NICs; urnic run --like does not imitate it)\n\n", row.name) +
      labelled("what", row.what) + advice_text(find_advice(advice_on_what_is_not_imitated(), row.name));
  return {.name = std::string(row.name), .kind = "-", .summary = std::string(row.what), .text = text};
}

Topic topic_of(const nic::BehaviorRow& row) {
  const std::string text = fmt::format("{} (behavior of urnic run --chaos{})\n\n", row.name,
                                       row.is_usual ? "" : ", only where it is named") +
                           labelled("what", row.what) + labelled("rule", row.rule) +
                           labelled("exposes", row.exposes) +
                           advice_text(find_advice(advice_on_behaviors(), row.name));
  return {.name = std::string(row.name),
          .kind = row.is_usual ? "chaos" : "named",
          .summary = std::string(row.what),
          .text = text};
}

Topic topic_of(const check::RuleInfo& rule) {
  return {.name = std::string(rule.name),
          .kind = std::string(to_string(rule.severity)),
          .summary = std::string(rule.meaning),
          .text = fmt::format("{} ({} of urnic check)\n\n", rule.name, to_string(rule.severity)) +
                  labelled("meaning", rule.meaning)};
}

template <typename Rows>
std::vector<Topic> topics_of(const Rows& rows) {
  std::vector<Topic> topics;
  for (const auto& row : rows) topics.push_back(topic_of(row));
  return topics;
}

}  // namespace

Chapter findings_of_the_sanitizer() {
  return {.title = "Findings of urnic run --sanitize", .topics = topics_of(verbs_api::all_findings())};
}

Chapter what_differs_between_nics() {
  Chapter chapter{.title = "What differs between NICs: urnic run --like", .topics = {}};
  for (const Row& row : nic::behaviour_rows()) {
    chapter.topics.push_back(topic_of(row, fmt::format("{} ...", row.meaning)));
  }
  for (const Row& row : nic::number_rows()) {
    chapter.topics.push_back(topic_of(row, std::string(row.meaning)));
  }
  return chapter;
}

Chapter what_is_not_imitated() {
  return {.title = "What urnic run --like does not imitate", .topics = topics_of(nic::not_imitated())};
}

Chapter behaviors_of_the_adversary() {
  return {.title = "Behaviors of urnic run --chaos", .topics = topics_of(nic::all_behaviors())};
}

Chapter rules_of_captures() {
  return {.title = "Rules of urnic check", .topics = topics_of(check::all_rules())};
}

}  // namespace urnic::explain
