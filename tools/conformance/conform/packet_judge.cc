// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/packet_judge.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/check/checker.h"

namespace urnic::conform {

std::optional<std::string> find_broken_rule(std::span<const RecordedPacket> packets) {
  check::Checker checker(check::CheckOptions{});
  std::uint64_t number = 0;
  for (const RecordedPacket& packet : packets) {
    checker.add(check::LinkType::kRaw, {.bytes = packet.bytes,
                                        .wire_bytes = packet.bytes.size(),
                                        .time_ns = packet.wall_time.count(),
                                        .number = ++number,
                                        .link_type = check::LinkType::kRaw});
  }
  checker.finish();
  const auto is_of_peer = [&](const check::Finding& finding) {
    return finding.severity == check::Severity::kViolation &&
           finding.rule != check::Rule::kDuplicateDiffers && !finding.frames.empty() &&
           !packets[finding.frames.back() - 1].is_sent;
  };
  const auto& findings = checker.findings().kept();
  const auto found = std::find_if(findings.begin(), findings.end(), is_of_peer);
  if (found == findings.end()) return std::nullopt;
  return fmt::format("urnic check: {} in packet {}: expected {}, seen {}", info_of(found->rule).name,
                     found->frames.back(), found->expected, found->seen);
}

}  // namespace urnic::conform
