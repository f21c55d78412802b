// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/results/result_json.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace urnic::conform {
namespace {

constexpr Verdict kVerdicts[] = {Verdict::kPass, Verdict::kFail, Verdict::kHabit, Verdict::kUnknown};

using Seconds = std::chrono::duration<double>;

nlohmann::json json_of_lines(std::span<const scripts::Failure> lines) {
  auto all = nlohmann::json::array();
  for (const scripts::Failure& line : lines) {
    all.push_back({{"line", line.line}, {"statement", line.statement}, {"reason", line.message}});
  }
  return all;
}

std::vector<scripts::Failure> read_lines(const nlohmann::json& json) {
  std::vector<scripts::Failure> lines;
  for (const nlohmann::json& line : json) {
    lines.push_back({.line = line.at("line").get<unsigned>(),
                     .statement = line.at("statement").get<std::string>(),
                     .message = line.at("reason").get<std::string>()});
  }
  return lines;
}

CaseResult read(const nlohmann::json& json, const Case& of, Verdict verdict) {
  CaseResult result;
  result.of = of;
  result.verdict = verdict;
  result.line = json.at("line").get<unsigned>();
  result.statement = json.at("statement").get<std::string>();
  result.reason = json.at("reason").get<std::string>();
  result.habit_of = json.at("habit_of").get<std::string>();
  result.habit_source = json.at("habit_source").get<std::string>();
  result.not_judged = read_lines(json.at("not_judged"));
  result.excused = read_lines(json.at("excused"));
  result.ladder = json.at("ladder").get<std::vector<std::string>>();
  result.took = std::chrono::duration_cast<std::chrono::nanoseconds>(
      Seconds(std::clamp(json.at("seconds").get<double>(), 0.0, 1e6)));
  result.capture = json.at("capture").get<std::string>();
  return result;
}

}  // namespace

nlohmann::json json_of(const CaseResult& result) {
  return {{"name", result.of.name},
          {"verdict", name_of(result.verdict)},
          {"rule", result.of.rule()},
          {"source", result.of.source()},
          {"line", result.line},
          {"statement", result.statement},
          {"reason", result.reason},
          {"habit_of", result.habit_of},
          {"habit_source", result.habit_source},
          {"not_judged", json_of_lines(result.not_judged)},
          {"excused", json_of_lines(result.excused)},
          {"ladder", result.verdict == Verdict::kPass ? std::vector<std::string>() : result.ladder},
          {"seconds", Seconds(result.took).count()},
          {"capture", result.capture}};
}

std::optional<CaseResult> result_from(const nlohmann::json& json, const Case& of) {
  try {
    const auto* const verdict = std::find_if(
        std::begin(kVerdicts), std::end(kVerdicts),
        [said = json.at("verdict").get<std::string>()](Verdict each) { return name_of(each) == said; });
    if (verdict == std::end(kVerdicts) || json.at("name").get<std::string>() != of.name) return std::nullopt;
    return read(json, of, *verdict);
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace urnic::conform
