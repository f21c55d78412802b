// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Fuzz target: any capture, through the whole of `urnic check`.
//
// The input is a sequence of frames: see capture_script.h. Nothing may crash, read out of bounds or grow
// without bound, and the counts must add up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/fuzz/capture_script.h"
#include "tools/conformance/check/checker.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
  }
}

void check_sums(const Checker& checker) {
  const FrameCounts& counts = checker.counts();
  require(counts.roce_v1 + counts.roce_v2 + counts.copies + counts.fragments + counts.others == counts.frames,
          "every frame is of one kind");
  for (const std::uint64_t wrapped : counts.wrapped) {
    require(wrapped <= counts.roce_v1 + counts.roce_v2, "a frame is wrapped once");
  }
  require(checker.fragments().completed() + checker.fragments().incomplete() <= counts.frames * 2,
          "a datagram has a fragment");
  require(counts.icrc_right + counts.icrc_wrong + counts.icrc_unknown == counts.roce_v1 + counts.roce_v2,
          "every RoCE frame has one verdict");
  std::uint64_t packets = 0;
  for (const Flow& flow : checker.connections().flows()) {
    packets += flow.packets;
    require(!flow.peer || checker.connections().flows().at(*flow.peer).peer.has_value(),
            "peers know each other");
  }
  require(packets <= counts.frames, "no packet is in two flows");
  std::uint64_t cnps = 0;
  for (const CnpSender& sender : checker.notifications().spacing().senders()) {
    cnps += sender.cnps;
    for (const Distances& distances : sender.distances) {
      require(distances.count() < std::max<std::uint64_t>(sender.cnps, 1), "a distance has two CNPs");
      require(distances.least() <= distances.typical(), "the least distance is the least");
    }
  }
  require(cnps <= counts.cnps, "a CNP has one sender");
  for (const Pauser& pauser : checker.pauses().pausers()) {
    for (const PauseCounts& pauses : pauser.counts) require(pauses.paused_ns >= 0, "pauses last");
  }
  std::uint64_t findings = 0;
  for (const RuleInfo& info : all_rules()) findings += checker.findings().count_of(info.rule);
  std::uint64_t by_severity = 0;
  for (const Severity severity :
       {Severity::kViolation, Severity::kHabit, Severity::kUnknown, Severity::kEvent}) {
    by_severity += checker.findings().count_of(severity);
  }
  require(findings == by_severity, "every finding has one severity");
}

void check_reports(const Checker& checker) {
  require(!text_report("capture", checker, "", true).empty(), "there is a report");
  const auto object = nlohmann::json::parse(json_report("capture", checker, "").dump());
  require(object["violations"] == checker.findings().count_of(Severity::kViolation), "the reports agree");
}

}  // namespace
}  // namespace urnic::check

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace urnic::check;
  constexpr CongestionPolicy kSlowLink = {
      .cnp_spacing_ns = 200'000, .cnp_scope = CnpScope::kAddress, .link_rate_bps = 1e8};
  Checker checker(CheckOptions{.congestion = kSlowLink, .keeping = {.ladder_rows = 16, .silences = 4}});
  urnic::fuzz::for_each_frame(data, size,
                              [&](const RawFrame& raw) { checker.add(LinkType::kEthernet, raw); });
  checker.finish();
  check_sums(checker);
  check_reports(checker);
  return 0;
}
