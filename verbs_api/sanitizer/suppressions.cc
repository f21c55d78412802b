// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/suppressions.h"

#include <fmt/core.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "verbs_api/fault/likeness.h"

namespace urnic::verbs_api {
namespace {

constexpr std::string_view kAnything = "*";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

Error wrong(unsigned line, const std::string& why) {
  return {.code = EINVAL, .message = fmt::format("line {} of the suppressions: {}", line, why)};
}

}  // namespace

Result<Suppressions, Error> Suppressions::parse(std::string_view text) {
  Suppressions result;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon + 1 == line.size()) {
      return wrong(number, fmt::format("'{}' is not FINDING:PATTERN", line));
    }
    const std::string_view name = line.substr(0, colon);
    const auto finding = finding_named(name);
    if (!finding) {
      std::vector<std::string_view> names;
      for (const FindingRow& row : all_findings()) names.push_back(row.name);
      const std::string like = names_like(name, names);
      return wrong(number, fmt::format("there is no finding '{}'{}", name,
                                       like.empty() ? "" : "; is it " + like + "?"));
    }
    result.lines_.push_back({*finding, std::string(trimmed(line.substr(colon + 1)))});
  }
  return result;
}

Result<Suppressions, Error> Suppressions::read(const std::string& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) {
    return Error{.code = ENOENT, .message = fmt::format("the suppressions '{}' cannot be read", file)};
  }
  return parse(text);
}

bool Suppressions::has_any_of(Finding finding) const {
  return std::ranges::any_of(lines_, [=](const Line& line) { return line.finding == finding; });
}

bool Suppressions::covers(Finding finding, std::span<const std::string> calls) const {
  return std::ranges::any_of(lines_, [&](const Line& line) {
    if (line.finding != finding) return false;
    if (line.pattern == kAnything) return true;
    const std::string within = fmt::format("*{}*", line.pattern);
    return std::ranges::any_of(
        calls, [&](const std::string& call) { return fnmatch(within.c_str(), call.c_str(), 0) == 0; });
  });
}

}  // namespace urnic::verbs_api
