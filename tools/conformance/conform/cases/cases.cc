// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/cases/cases.h"

#include <fnmatch.h>

#include <algorithm>

namespace urnic::conform {
namespace {

constexpr std::string_view kBetween = " -- ";

/// Without "# ".
std::string_view heading(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.substr(std::min(line.find_first_not_of("# "), line.size()));
}

}  // namespace

std::string_view Case::rule() const {
  const std::string_view line = heading(text);
  return line.substr(0, line.find(kBetween));
}

std::string_view Case::source() const {
  const std::string_view line = heading(text);
  const std::size_t at = line.find(kBetween);
  return at == line.npos ? std::string_view() : line.substr(at + kBetween.size());
}

std::vector<Case> cases_of(std::span<const Case> cases, std::span<const std::string> patterns) {
  std::vector<Case> chosen;
  for (const Case& candidate : cases) {
    const std::string name(candidate.name);
    const bool fits = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    });
    if (fits || patterns.empty()) chosen.push_back(candidate);
  }
  return chosen;
}

}  // namespace urnic::conform
