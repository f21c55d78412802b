#include "tools/replay/replay.h"

#include <algorithm>
#include <utility>

#include "tools/replay/message.h"
#include "tools/replay/requester_replay.h"
#include "tools/replay/responder_replay.h"

namespace urnic::replay {

namespace {

bool is_wanted(const Lane& lane, const std::vector<std::uint32_t>& queue_pairs) {
  return std::all_of(queue_pairs.begin(), queue_pairs.end(), [&](std::uint32_t wanted) {
    return wanted == lane.requester_qp || wanted == lane.responder_qp;
  });
}

Outcome not_played(Side side, std::string why) {
  Outcome outcome;
  outcome.side = side;
  outcome.verdict = Verdict::kNotPlayed;
  outcome.what = std::move(why);
  return outcome;
}

Outcome play_requester(const Lane& lane, const std::vector<Message>& messages, const ReplayOptions& options) {
  if (messages.empty()) return not_played(Side::kRequester, "no message of it is whole");
  return replay_requester(lane, messages, options.keep_ladder);
}

Outcome play_responder(const Lane& lane, const std::vector<Message>& messages, const ReplayOptions& options) {
  if (lane.service == check::Service::kRc && lane.answers == 0) {
    return not_played(Side::kResponder,
                      "the capture has no answer to it: half of a capture, or a peer that is dead");
  }
  return replay_responder(lane, messages,
                          {.keep_ladder = options.keep_ladder, .memory_changes = options.memory_changes});
}

LaneReport play(const Lane& lane, const ReplayOptions& options) {
  LaneReport report{.name = lane.name,
                    .service = lane.service,
                    .path_mtu = lane.path_mtu,
                    .requests = lane.requests,
                    .answers = lane.answers,
                    .notes = lane.notes};
  if (!lane.obstacle.empty()) {
    if (options.requester) report.outcomes.push_back(not_played(Side::kRequester, lane.obstacle));
    if (options.responder) report.outcomes.push_back(not_played(Side::kResponder, lane.obstacle));
    return report;
  }
  const std::vector<Message> messages = messages_of(lane, report.notes);
  report.messages = messages.size();
  if (options.requester) report.outcomes.push_back(play_requester(lane, messages, options));
  if (options.responder) report.outcomes.push_back(play_responder(lane, messages, options));
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
  for (const Lane& lane : lanes_of(capture)) {
    if (is_wanted(lane, options.queue_pairs)) report.lanes.push_back(play(lane, options));
  }
  return report;
}

int exit_code_of(const Report& report) {
  bool has_played = false;
  bool differs = false;
  for (const LaneReport& lane : report.lanes) {
    for (const Outcome& outcome : lane.outcomes) {
      has_played = has_played || outcome.verdict != Verdict::kNotPlayed;
      differs = differs || outcome.verdict == Verdict::kMismatch;
    }
  }
  if (!report.damage.empty() || !has_played) return 2;
  return differs ? 1 : 0;
}

}  // namespace urnic::replay
