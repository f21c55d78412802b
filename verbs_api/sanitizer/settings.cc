// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/settings.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "verbs_api/fault/likeness.h"

namespace urnic::verbs_api {
namespace {

constexpr int kMaxExitCode = 255;

/// What accounts/ finds.
constexpr Finding kOfAccounts[] = {Finding::kSendQueueNeverDrained,  Finding::kReceiveQueueNeverDrained,
                                   Finding::kRoomNotRequested,       Finding::kCompletionQueueTooSmall,
                                   Finding::kCompletionQueueOverrun, Finding::kDestroyedWithWorkOutstanding};

Error wrong(std::string_view why) {
  return {.code = EINVAL,
          .message = fmt::format("{} (level=error|warning|hint, exitcode=N, off=NAME+NAME, "
                                 "suppressions=FILE, stacks=0|1, json=FILE)",
                                 why)};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<void, Error> read_level(std::string_view text, SanitizerSettings& settings) {
  for (const FindingLevel level : {FindingLevel::kHint, FindingLevel::kWarning, FindingLevel::kError}) {
    if (text != name_of(level)) continue;
    settings.level = level;
    return success();
  }
  return wrong(fmt::format("there is no level '{}'", text));
}

Result<void, Error> read_exit_code(std::string_view text, SanitizerSettings& settings) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), settings.exit_code);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && settings.exit_code >= 0 && settings.exit_code <= kMaxExitCode) return success();
  return wrong(fmt::format("'{}' is no exit code from 0 to {}", text, kMaxExitCode));
}

Result<void, Error> read_off(std::string_view text, SanitizerSettings& settings) {
  for (const std::string_view name : split(text, '+')) {
    const auto finding = finding_named(name);
    if (!finding) {
      std::vector<std::string_view> names;
      for (const FindingRow& row : all_findings()) names.push_back(row.name);
      const std::string like = names_like(name, names);
      return wrong(
          fmt::format("there is no finding '{}'{}", name, like.empty() ? "" : "; is it " + like + "?"));
    }
    settings.off.set(static_cast<std::size_t>(*finding));
  }
  return success();
}

Result<void, Error> read_stacks(std::string_view text, SanitizerSettings& settings) {
  if (text != "0" && text != "1") return wrong(fmt::format("stacks={} is not 0 or 1", text));
  settings.has_stacks = text == "1";
  return success();
}

Result<void, Error> read_file(std::string_view text, SanitizerSettings& settings) {
  if (text.empty()) return wrong("json= needs the name of a file");
  settings.json_file = text;
  return success();
}

Result<void, Error> read_suppressions(std::string_view text, SanitizerSettings& settings) {
  auto read = Suppressions::read(std::string(text));
  if (!read) return read.error();
  settings.suppressions = std::move(read).value();
  return success();
}

struct Word {
  std::string_view name;
  Result<void, Error> (*read)(std::string_view, SanitizerSettings&);
};
constexpr Word kWords[] = {{"level", read_level},   {"exitcode", read_exit_code},
                           {"off", read_off},       {"suppressions", read_suppressions},
                           {"stacks", read_stacks}, {"json", read_file}};

}  // namespace

bool SanitizerSettings::wants(Finding finding) const {
  return row_of(finding).level >= level && !off.test(static_cast<std::size_t>(finding));
}

SanitizerSettings SanitizerSettings::for_accounts() {
  SanitizerSettings settings;
  settings.off.set();
  for (const Finding finding : kOfAccounts) settings.off.reset(static_cast<std::size_t>(finding));
  return settings;
}

Result<SanitizerSettings, Error> SanitizerSettings::parse(std::string_view text) {
  SanitizerSettings settings;
  if (text == "1") return settings;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t sign = part.find('=');
    const Word* word = nullptr;
    for (const Word& each : kWords) {
      if (sign != std::string_view::npos && part.substr(0, sign) == each.name) word = &each;
    }
    if (word == nullptr) return wrong(fmt::format("'{}' is not understood", part));
    if (const auto read = word->read(part.substr(sign + 1), settings); !read) return read.error();
  }
  return settings;
}

}  // namespace urnic::verbs_api
