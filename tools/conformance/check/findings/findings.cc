// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/findings/findings.h"

namespace urnic::check {

Severity Findings::severity_of(Rule rule) const {
  const RuleInfo& info = info_of(rule);
  const bool is_allowed = have_common(info.makers, policy_.makers);
  return info.severity == Severity::kHabit && !is_allowed ? Severity::kViolation : info.severity;
}

void Findings::add_if_complete(Rule rule, std::uint32_t flow, std::initializer_list<std::uint64_t> frames,
                               std::string expected, std::string seen, bool is_sure) {
  const Severity severity = policy_.lossy || !is_sure ? Severity::kUnknown : severity_of(rule);
  if (Finding* const finding = place_for(rule, severity, flow, frames)) {
    finding->expected = std::move(expected);
    finding->seen = std::move(seen);
  }
}

Finding* Findings::place_for(Rule rule, Severity severity, std::uint32_t flow,
                             std::initializer_list<std::uint64_t> frames) {
  if (muted_) return nullptr;
  if (is_choosing_ && !shown_.contains(flow)) {
    ++left_out_[static_cast<std::size_t>(severity)];
    return nullptr;
  }
  std::uint64_t& count = counts_[static_cast<std::size_t>(rule)];
  ++by_severity_[static_cast<std::size_t>(severity)];
  ++count;
  // A habit shows in every packet: one finding for each connection says it all.
  if (info_of(rule).severity == Severity::kHabit) {
    const auto [place, is_new] = habits_.try_emplace({rule, flow}, kept_.size());
    if (!is_new) {
      if (place->second < kept_.size()) ++kept_[place->second].count;
      return nullptr;
    }
    if (habits_.size() > kRules * kKept) {
      habits_.erase(place);
      return nullptr;
    }
  } else if (count > kKept) {
    return nullptr;
  }
  kept_.push_back(Finding{.rule = rule, .severity = severity, .flow = flow, .frames = frames});
  return &kept_.back();
}

}  // namespace urnic::check
