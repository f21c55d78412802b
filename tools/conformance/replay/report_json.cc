// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <nlohmann/json.hpp>

#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/replay/replay.h"

namespace urnic::replay {

namespace {

nlohmann::json json_of(const Outcome& outcome) {
  auto deviations = nlohmann::json::object();
  for (std::size_t index = 0; index < kAllowedDeviations; ++index) {
    if (outcome.deviations[index] != 0) {
      deviations[info_of(static_cast<AllowedDeviation>(index)).name] = outcome.deviations[index];
    }
  }
  nlohmann::json object = {{"side", to_string(outcome.side)},
                           {"verdict", to_string(outcome.verdict)},
                           {"compared", outcome.compared},
                           {"allowed_deviations", std::move(deviations)},
                           {"inferred", outcome.notes}};
  if (outcome.verdict == Verdict::kNotPlayed) object["reason"] = outcome.what;
  if (outcome.verdict != Verdict::kMismatch) return object;
  auto rows = nlohmann::json::array();
  for (const Row& row : outcome.ladder.rows()) {
    rows.push_back({{"frame", row.frame},
                    {"time_ns", row.time_ns},
                    {"captured", row.captured},
                    {"ours", row.ours},
                    {"note", row.note},
                    {"differs", row.is_difference}});
  }
  object["difference"] = {{"frame", outcome.frame}, {"what", outcome.what}, {"ladder", std::move(rows)}};
  return object;
}

}  // namespace

nlohmann::json json_report(const Report& report) {
  auto left_out = nlohmann::json::array();
  for (const LeftOut& frame : report.left_out_frames) {
    left_out.push_back({{"frame", frame.frame}, {"reason", frame.reason}});
  }
  auto directions = nlohmann::json::array();
  for (const DirectionReport& direction : report.directions) {
    auto sides = nlohmann::json::array();
    for (const Outcome& outcome : direction.outcomes) sides.push_back(json_of(outcome));
    directions.push_back({{"name", direction.name},
                          {"service", to_string(direction.service)},
                          {"path_mtu_bytes", direction.path_mtu},
                          {"request_packets", direction.requests},
                          {"answer_packets", direction.answers},
                          {"messages", direction.messages},
                          {"notes", direction.notes},
                          {"sides", std::move(sides)}});
  }
  return {{"file", report.file},
          {"verdict", to_string(judgement_of(report))},
          {"frames", report.frames},
          {"packets", report.packets},
          {"packets_to_play", report.wanted},
          {"packets_played", report.played},
          {"left_out_frames", report.left_out},
          {"left_out", std::move(left_out)},
          {"not_played", report.unplayed},
          {"damage", report.damage},
          {"directions", std::move(directions)}};
}

}  // namespace urnic::replay
