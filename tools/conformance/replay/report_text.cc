// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <fmt/core.h>

#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/replay/replay.h"

namespace urnic::replay {

namespace {

constexpr std::size_t kColumn = 52;

std::string deviations_of(const Outcome& outcome) {
  std::string text;
  for (std::size_t index = 0; index < kAllowedDeviations; ++index) {
    if (outcome.deviations[index] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", outcome.deviations[index],
                        info_of(static_cast<AllowedDeviation>(index)).name);
  }
  return text;
}

/// Captured and ours side by side; the arrow of the margin points at the first difference.
std::string draw(const Ladder& ladder) {
  std::string text = fmt::format("    {:>7} {:>10}  {:<{}} {}\n", "frame", "ms", "captured", kColumn, "ours");
  if (ladder.left_out() > 0) text += fmt::format("    {:>7} {} rows before\n", "...", ladder.left_out());
  for (const Row& row : ladder.rows()) {
    const bool has_frame = row.frame != 0;
    text += fmt::format("{} {:>7} {:>10}  {:<{}} {:<{}}  {}", row.is_difference ? "==>" : "   ",
                        has_frame ? std::to_string(row.frame) : "",
                        has_frame ? fmt::format("{:.3f}", static_cast<double>(row.time_ns) / 1e6) : "",
                        row.captured.empty() ? "-" : row.captured, kColumn, row.ours.empty() ? "-" : row.ours,
                        kColumn, row.note);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string text_of(const Outcome& outcome) {
  std::string text = fmt::format("  our {}: {}", to_string(outcome.side), to_string(outcome.verdict));
  switch (outcome.verdict) {
    case Verdict::kEqual:
      text += fmt::format(", {} compared", outcome.compared);
      break;
    case Verdict::kMismatch:
      text += outcome.frame != 0 ? fmt::format(" at frame {}: {}", outcome.frame, outcome.what)
                                 : fmt::format(": {}", outcome.what);
      break;
    case Verdict::kNotPlayed:
      text += ": " + outcome.what;
      break;
  }
  const std::string deviations = deviations_of(outcome);
  if (!deviations.empty()) text += fmt::format("\n    allowed: {}", deviations);
  for (const std::string& note : outcome.notes) text += fmt::format("\n    taken: {}", note);
  text += '\n';
  if (!outcome.ladder.rows().empty() &&
      (outcome.verdict == Verdict::kMismatch || outcome.ladder.rows().size() > Ladder::kRowsBefore)) {
    text += draw(outcome.ladder);
  }
  return text;
}

}  // namespace

std::string text_report(const Report& report) {
  std::string text =
      fmt::format("{}: {} frames, {} RoCEv2 packets", report.file, report.frames, report.packets);
  text += report.left_out > 0 ? fmt::format(", {} left out\n", report.left_out) : "\n";
  for (const LeftOut& frame : report.left_out_frames) {
    text += fmt::format("  frame {} is left out: {}\n", frame.frame, frame.reason);
  }
  for (const DirectionReport& direction : report.directions) {
    text += fmt::format("{} {}, path MTU {}: {} requests, {} answers, {} messages\n",
                        to_string(direction.service), direction.name, direction.path_mtu, direction.requests,
                        direction.answers, direction.messages);
    for (const std::string& note : direction.notes) text += fmt::format("  {}\n", note);
    for (const Outcome& outcome : direction.outcomes) text += text_of(outcome);
  }
  for (const std::string& line : report.unplayed) text += fmt::format("not played: {}\n", line);
  if (report.directions.empty()) text += "no requests of RoCEv2 to play\n";
  text += fmt::format("played: {} of {} packets\n", report.played, report.wanted);
  return text + fmt::format("verdict: {}\n", to_string(judgement_of(report)));
}

std::string list_of_allowed_deviations() {
  std::string text;
  for (std::size_t index = 0; index < kAllowedDeviations; ++index) {
    const AllowedDeviationInfo info = info_of(static_cast<AllowedDeviation>(index));
    text += fmt::format("{:<20} {}\n", info.name, info.meaning);
  }
  return text;
}

}  // namespace urnic::replay
