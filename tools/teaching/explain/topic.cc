// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/teaching/explain/topic.h"

#include <fmt/core.h>

#include <cstddef>

#include "verbs_api/sanitizer/finding.h"

namespace urnic::explain {
namespace {

/// The lines of `text`, each after a margin.
std::string indented(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t end = text.find('\n');
    result += fmt::format("  {}\n", text.substr(0, end));
    if (end == std::string_view::npos) return result;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string labelled(std::string_view label, std::string_view text) {
  if (text.empty()) return {};
  return fmt::format("  {:<10} {}\n", fmt::format("{}:", label), text);
}

std::string code_text(const verbs_api::Example& example) {
  if (example.wrong.empty()) return {};
  return fmt::format("\nwrong:\n\n{}\nright:\n\n{}", indented(example.wrong), indented(example.right));
}

std::string advice_text(const Advice* advice) {
  if (advice == nullptr) return {};
  std::string text = labelled("do", advice->text);
  if (advice->finding) {
    text += labelled("finding", fmt::format("{} of urnic run --sanitize", row_of(*advice->finding).name));
  }
  return text + code_text(code_of(*advice));
}

std::vector<Chapter> all_chapters() {
  return {findings_of_the_sanitizer(),
          what_differs_between_nics(),
          what_is_not_imitated(),
          behaviors_of_the_adversary(),
          rules_of_captures(),
          statuses_of_completions(),
          vendor_errors()};
}

}  // namespace urnic::explain
