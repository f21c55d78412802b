// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/replay.h"

#include <algorithm>
#include <utility>

#include "tools/conformance/replay/message.h"
#include "tools/conformance/replay/requester_replay.h"
#include "tools/conformance/replay/responder_replay.h"

namespace urnic::replay {

namespace {

bool is_wanted(const Direction& direction, const std::vector<std::uint32_t>& queue_pairs) {
  return std::all_of(queue_pairs.begin(), queue_pairs.end(), [&](std::uint32_t wanted) {
    return wanted == direction.requester_qp || wanted == direction.responder_qp;
  });
}

Outcome not_played(Side side, std::string why) {
  Outcome outcome;
  outcome.side = side;
  outcome.verdict = Verdict::kNotPlayed;
  outcome.what = std::move(why);
  return outcome;
}

Outcome play_requester(const Direction& direction, const std::vector<Message>& messages,
                       const ReplayOptions& options) {
  if (messages.empty()) return not_played(Side::kRequester, "no message of it is whole");
  return replay_requester(direction, messages, options.keep_ladder);
}

Outcome play_responder(const Direction& direction, const std::vector<Message>& messages,
                       const ReplayOptions& options) {
  if (direction.service == check::Service::kRc && direction.answers == 0) {
    return not_played(Side::kResponder,
                      "the capture has no answer to it: half of a capture, or a peer that is dead");
  }
  return replay_responder(direction, messages,
                          {.keep_ladder = options.keep_ladder, .memory_changes = options.memory_changes});
}

DirectionReport play(const Direction& direction, const ReplayOptions& options) {
  DirectionReport report{.name = direction.name,
                         .service = direction.service,
                         .path_mtu = direction.path_mtu,
                         .requests = direction.requests,
                         .answers = direction.answers,
                         .notes = direction.notes};
  if (!direction.obstacle.empty()) {
    if (options.requester) report.outcomes.push_back(not_played(Side::kRequester, direction.obstacle));
    if (options.responder) report.outcomes.push_back(not_played(Side::kResponder, direction.obstacle));
    return report;
  }
  const std::vector<Message> messages = messages_of(direction, report.notes);
  report.messages = messages.size();
  if (options.requester) report.outcomes.push_back(play_requester(direction, messages, options));
  if (options.responder) report.outcomes.push_back(play_responder(direction, messages, options));
  return report;
}

}  // namespace

Report replay(const std::string& file, const Capture& capture, const ReplayOptions& options) {
  Report report{.file = file,
                .frames = capture.frames(),
                .packets = capture.packets().size(),
                .left_out = capture.left_out_count(),
                .left_out_frames = capture.left_out(),
                .unplayed = unplayed_of(capture)};
  std::uint64_t packets_of_wanted = 0;
  for (const Direction& direction : directions_of(capture)) {
    if (!is_wanted(direction, options.queue_pairs)) continue;
    packets_of_wanted += direction.packets;
    report.directions.push_back(play(direction, options));
    report.played += report.directions.back().is_played() ? direction.events.size() : 0;
  }
  report.wanted = options.queue_pairs.empty() ? report.packets + report.left_out : packets_of_wanted;
  return report;
}

bool DirectionReport::is_played() const {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const Outcome& outcome) { return outcome.verdict != Verdict::kNotPlayed; });
}

const char* to_string(Judgement judgement) {
  switch (judgement) {
    case Judgement::kEqual:
      return "equal";
    case Judgement::kMismatch:
      return "mismatch";
    case Judgement::kUnreadable:
      return "unreadable";
    case Judgement::kHardlyPlayed:
      break;
  }
  return "hardly played";
}

Judgement judgement_of(const Report& report) {
  if (!report.damage.empty()) return Judgement::kUnreadable;
  for (const DirectionReport& direction : report.directions) {
    for (const Outcome& outcome : direction.outcomes) {
      if (outcome.verdict == Verdict::kMismatch) return Judgement::kMismatch;
    }
  }
  const bool is_enough = report.played > 0 && report.played >= report.wanted - report.played;
  return is_enough ? Judgement::kEqual : Judgement::kHardlyPlayed;
}

}  // namespace urnic::replay
