// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/results/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "tools/conformance/conform/results/result_json.h"

namespace urnic::conform {
namespace {

double seconds(const CaseResult& result) {
  return std::chrono::duration<double>(result.took).count();
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n') {
      out += c;
    }
  }
  return out;
}

std::string place_of(const CaseResult& result) {
  if (result.line != 0) return fmt::format("line {}: {}", result.line, result.statement);
  return result.statement;
}

/// A text of several lines, each further in.
std::string indented(std::string_view text, std::string_view margin) {
  std::string out(margin);
  for (const char c : text) {
    out += c;
    if (c == '\n') out += margin;
  }
  return out;
}

std::string details(const CaseResult& result) {
  std::string text;
  if (const std::string place = place_of(result); !place.empty()) text += place + "\n";
  text += result.reason + "\n";
  text += fmt::format("rule: {}\nsource: {}", result.of.rule(), result.of.source());
  if (!result.habit_of.empty()) {
    text += fmt::format("\nhabit of: {} ({})", result.habit_of, result.habit_source);
  }
  for (std::size_t i = 1; i < result.excused.size(); ++i) {
    const scripts::Failure& other = result.excused[i];
    text += fmt::format("\nalso at line {}: {}", other.line, other.message);
  }
  if (!result.capture.empty()) text += "\npackets: " + result.capture;
  return text;
}

}  // namespace

Counts count(std::span<const CaseResult> results) {
  const auto of = [&](Verdict verdict) {
    return static_cast<std::size_t>(std::count_if(
        results.begin(), results.end(), [&](const CaseResult& result) { return result.verdict == verdict; }));
  };
  return {.passed = of(Verdict::kPass),
          .failed = of(Verdict::kFail),
          .habits = of(Verdict::kHabit),
          .unknown = of(Verdict::kUnknown)};
}

std::string text_of(const CaseResult& result) {
  std::string text = fmt::format("{:<8} {}", name_of(result.verdict), result.of.name);
  if (!result.not_judged.empty()) {
    text += fmt::format("  (not judged:");
    for (const scripts::Failure& line : result.not_judged) text += fmt::format(" line {}", line.line);
    text += ")";
  }
  if (result.verdict == Verdict::kUnknown) return text + "\n" + indented(result.reason, "         ") + "\n";
  if (result.verdict == Verdict::kPass) return text + "\n";
  text += "\n" + indented(details(result), "         ") + "\n";
  for (const std::string& line : result.ladder) text += "             " + line + "\n";
  return text;
}

std::string summary_of(const Counts& counts) {
  return fmt::format("{} cases: {} passed, {} failed, {} habits, {} unknown\n",
                     counts.passed + counts.failed + counts.habits + counts.unknown, counts.passed,
                     counts.failed, counts.habits, counts.unknown);
}

nlohmann::json json_of(const std::string& peer, std::span<const CaseResult> results) {
  const Counts counts = count(results);
  auto cases = nlohmann::json::array();
  for (const CaseResult& result : results) cases.push_back(json_of(result));
  return {{"peer", peer},
          {"passed", counts.passed},
          {"failed", counts.failed},
          {"habits", counts.habits},
          {"unknown", counts.unknown},
          {"cases", std::move(cases)}};
}

std::string json_text_of(const std::string& peer, std::span<const CaseResult> results) {
  return json_of(peer, results).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string junit_of(const std::string& peer, std::span<const CaseResult> results) {
  const Counts counts = count(results);
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuite name=\"urnic conform {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
                     escaped(peer), results.size(), counts.failed, counts.unknown);
  for (const CaseResult& result : results) {
    const std::string_view name = result.of.name;
    const std::size_t slash = std::min(name.rfind('/'), name.size() - 1);
    xml += fmt::format("<testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">",
                       escaped(name.substr(0, slash)), escaped(name.substr(slash + 1)), seconds(result));
    if (result.verdict == Verdict::kFail) {
      xml += fmt::format("<failure message=\"{}\">{}</failure>", escaped(result.reason.substr(0, 200)),
                         escaped(details(result)));
    } else if (result.verdict == Verdict::kUnknown) {
      xml += fmt::format("<skipped message=\"{}\"/>", escaped(result.reason));
    } else if (result.verdict == Verdict::kHabit) {
      xml += fmt::format("<system-out>{}</system-out>", escaped(details(result)));
    }
    xml += "</testcase>\n";
  }
  return xml + "</testsuite>\n";
}

}  // namespace urnic::conform
