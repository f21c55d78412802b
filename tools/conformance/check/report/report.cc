// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/report/report.h"

#include <fmt/core.h>

#include "tools/conformance/check/findings/rule.h"

namespace urnic::check {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kClean:
      return "clean";
    case Verdict::kViolations:
      return "violations";
    case Verdict::kNothing:
      return "nothing to judge";
    case Verdict::kUnreadable:
      break;
  }
  return "unreadable";
}

Verdict verdict_of(const Checker& checker, const std::string& damage) {
  if (!damage.empty()) return Verdict::kUnreadable;
  if (checker.findings().count_of(Severity::kViolation) > 0) return Verdict::kViolations;
  return checker.counts().roce_v2 > 0 ? Verdict::kClean : Verdict::kNothing;
}

std::vector<Pair> pairs_of(const Connections& connections) {
  std::vector<Pair> pairs;
  for (std::uint32_t index = 0; index < connections.flows().size(); ++index) {
    const Flow& flow = connections.flows()[index];
    if (!flow.peer || *flow.peer >= index) {
      const bool alone = !flow.peer || *flow.peer == index;
      pairs.push_back(Pair{.forward = index, .backward = alone ? std::nullopt : flow.peer});
    }
  }
  return pairs;
}

double goodput_bps(const ExchangeCounts& counts) {
  const std::int64_t ns = counts.last_ns - counts.first_ns;
  return ns <= 0 ? 0 : static_cast<double>(counts.delivered_bytes) * 8e9 / static_cast<double>(ns);
}

std::string list_of_rules() {
  std::string text;
  for (const RuleInfo& info : all_rules()) {
    text += fmt::format("{:<22} {:<9}  {}\n", info.name, to_string(info.severity), info.meaning);
  }
  return text;
}

}  // namespace urnic::check
