// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/report/report.h"

#include <fmt/core.h>

#include "tools/conformance/check/findings/rule.h"
#include "tools/conformance/check/packets/number_text.h"
#include "tools/conformance/check/packets/packet.h"

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
  const bool has_something =
      checker.is_choice() ? !pairs_of(checker.connections()).empty() : checker.counts().roce() > 0;
  return has_something ? Verdict::kClean : Verdict::kNothing;
}

std::vector<Pair> pairs_of(const Connections& connections) {
  std::vector<Pair> pairs;
  for (std::uint32_t index = 0; index < connections.flows().size(); ++index) {
    const Flow& flow = connections.flows()[index];
    if (!flow.is_shown) continue;
    if (!flow.peer || *flow.peer >= index) {
      const bool alone = !flow.peer || *flow.peer == index;
      pairs.push_back(Pair{.forward = index, .backward = alone ? std::nullopt : flow.peer});
    }
  }
  return pairs;
}

LeftOut left_out_of(const Checker& checker) {
  LeftOut left_out;
  const std::vector<Flow>& flows = checker.connections().flows();
  for (std::uint32_t index = 0; index < flows.size(); ++index) {
    if (flows[index].is_shown) continue;
    left_out.packets += flows[index].packets;
    left_out.connections += !flows[index].peer || *flows[index].peer >= index ? 1 : 0;
  }
  for (std::size_t severity = 0; severity < kSeverities; ++severity) {
    left_out.findings[severity] = checker.findings().left_out_of(static_cast<Severity>(severity));
  }
  return left_out;
}

std::string to_string(const Landmark& landmark) {
  const bool is_acknowledge = info_of(landmark.opcode).operation == Operation::kAcknowledge;
  return fmt::format("{} PSN {}",
                     is_acknowledge ? describe_syndrome(landmark.syndrome) : name_of(landmark.opcode),
                     to_string(landmark.psn));
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
