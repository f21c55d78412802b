// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/recording/recorder.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "nic/diagnostics/snapshot_names.h"
#include "nic/queues/queue_pair.h"
#include "nic/recording/qp_recorder.h"
#include "transport/wire/opcode.h"

namespace urnic::nic {
namespace {

// Members stay in the order in which they are written here.
using Json = nlohmann::ordered_json;
using transport::Psn;

/// Not a number: most programs that read JSON keep 53 bits.
std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

/// Counters that say why a requester goes back.
bool may_repeat(std::string_view counter) {
  using transport::Counter;
  return counter == name_of(Counter::kPacketSequenceError) ||
         counter == name_of(Counter::kImpliedNakSequenceError) ||
         counter == name_of(Counter::kLocalAckTimeout) || counter == name_of(Counter::kEarlyRepetition) ||
         counter == name_of(Counter::kRnrNakReceived);
}

Json state_of(const QueuePairSnapshot& qp, const Journal& journal) {
  const transport::SendProgress& progress = qp.progress;
  const bool has_peer = !qp.peer.is_unspecified();
  const bool has_timer = qp.timer != transport::kNever;
  return {{"state", name_of(qp.state)},
          {"peer_qp", has_peer ? Json(to_integer(qp.peer_qp)) : Json()},
          {"send_psn", qp.send_psn.value()},
          {"oldest_psn", progress.oldest.value()},
          {"receive_psn", qp.receive_psn.value()},
          {"msn", qp.msn},
          {"packets_in_flight", progress.packets_in_flight},
          {"reads_in_flight", progress.reads_in_flight},
          {"sends_posted", qp.sends_posted},
          {"receives_posted", qp.receives_posted},
          {"retries_used", progress.retries_used},
          {"rnr_retries_used", progress.rnr_retries_used},
          {"waits_for_receiver", progress.waits_for_receiver},
          {"timer_ns", has_timer ? Json(journal.wall_clock(qp.timer).count()) : Json()}};
}

Json attributes_of(const QueuePairSnapshot& qp) {
  const bool has_peer = !qp.peer.is_unspecified();
  return {{"type", name_of(qp.type)},  {"peer_address", has_peer ? Json(address_text(qp.peer)) : Json()},
          {"path_mtu", qp.path_mtu},   {"retry_count", qp.retry_count},
          {"rnr_retry", qp.rnr_retry}, {"ack_timeout", qp.ack_timeout}};
}

std::string text_of(std::string_view what, std::chrono::nanoseconds time, const Json& members,
                    std::optional<std::uint64_t> frame) {
  Json note = {{"urnic", what}, {"time_ns", time.count()}};
  if (frame) note["frame"] = *frame;
  note.update(members);
  return note.dump();
}

}  // namespace

Recorder::Recorder(Journal& journal, const Clock& clock, const transport::Counters& counters,
                   const DeviceCounters& drops)
    : journal_(journal), clock_(clock), counters_(counters, drops) {}

Recorder::~Recorder() = default;

// --- Notes ---

void Recorder::on_posted(transport::QpNumber qp, const transport::SendRequest& request, std::uint64_t bytes) {
  journal_.add_note(text_of("post_send", journal_.wall_clock(clock_.now()),
                            {{"qp", to_integer(qp)},
                             {"wr_id", hex(request.wr_id)},
                             {"operation", name_of(request.operation)},
                             {"bytes", bytes},
                             {"signaled", request.signaled},
                             {"fence", request.fence}},
                            std::nullopt));
}

void Recorder::on_posted(std::string_view queue, std::uint32_t number,
                         const transport::ReceiveRequest& request, std::uint64_t bytes) {
  journal_.add_note(text_of("post_receive", journal_.wall_clock(clock_.now()),
                            {{queue, number}, {"wr_id", hex(request.wr_id)}, {"bytes", bytes}},
                            std::nullopt));
}

void Recorder::on_posts_aborted(transport::QpNumber qp) {
  journal_.add_note(
      text_of("posts_aborted", journal_.wall_clock(clock_.now()), {{"qp", to_integer(qp)}}, std::nullopt));
}

void Recorder::on_completed(const transport::Completion& completion, bool is_receive) {
  Json members = {{"qp", to_integer(completion.qp_number)},
                  {"queue", is_receive ? "receive" : "send"},
                  {"wr_id", hex(completion.wr_id)},
                  {"status", name_of(completion.status)}};
  if (completion.status == transport::CompletionStatus::kSuccess) {
    members["opcode"] = name_of(completion.opcode);
    members["bytes"] = completion.byte_length;
  }
  add("completion", std::move(members));
}

void Recorder::on_timeout(const QueuePair& qp, std::uint8_t retries_used) {
  add("ack_timeout", {{"qp", to_integer(qp.number())}, {"retries_used", retries_used}});
  seen_[to_integer(qp.number())].reason_to_repeat = name_of(transport::Counter::kLocalAckTimeout);
}

void Recorder::on_refused(const QueuePair& qp, const transport::RefusedRequest& request) {
  add("refusal", {{"qp", to_integer(qp.number())},
                  {"psn", request.psn.value()},
                  {"opcode", transport::wire::info(request.opcode).name},
                  {"reason", name_of(request.reason)}});
}

void Recorder::on_error_state(const QueuePair& qp) {
  note_state(qp);
}

void Recorder::on_modified(const QueuePair& qp) {
  Seen& seen = seen_[to_integer(qp.number())];
  if (qp.endpoint().state() <= transport::QpState::kInit) seen = {};
  const QueuePairSnapshot now = qp.snapshot();
  Json members = {{"qp", to_integer(qp.number())}};
  members.update(attributes_of(now));
  seen.state = state_of(now, journal_);
  members.update(seen.state);
  add("modify", std::move(members));
}

void Recorder::note_state(const QueuePair& qp) {
  Json now = state_of(qp.snapshot(), journal_);
  Seen& seen = seen_[to_integer(qp.number())];
  Json members = {{"qp", to_integer(qp.number())}};
  for (const auto& [name, value] : now.items()) {
    if (!seen.state.contains(name) || seen.state[name] != value) members[name] = value;
  }
  if (members.size() == 1) return;
  seen.state = std::move(now);
  add("state", std::move(members));
}

void Recorder::add(std::string_view what, Json&& members) {
  const std::chrono::nanoseconds time = journal_.wall_clock(clock_.now());
  if (!is_in_frame_) return journal_.add_note(text_of(what, time, members, std::nullopt));
  waiting_.push_back({.what = what, .time = time, .members = std::move(members)});
}

// --- Frames ---

void Recorder::on_frame() {
  counters_.take_changed();
  is_in_frame_ = true;
  receiver_ = nullptr;
}

void Recorder::on_frame_done() {
  const std::vector<std::string_view> changed = counters_.take_changed();
  if (receiver_ != nullptr) {
    const auto reason = std::ranges::find_if(changed, may_repeat);
    if (reason != changed.end()) seen_[to_integer(receiver_->number())].reason_to_repeat = *reason;
    note_state(*receiver_);
  }
  journal_.on_frame_done(listed(changed));
  is_in_frame_ = false;
  const std::uint64_t frame = journal_.last_frame();
  for (const Waiting& note : waiting_) journal_.add_note(text_of(note.what, note.time, note.members, frame));
  waiting_.clear();
}

void Recorder::on_received(const QueuePair& qp) {
  receiver_ = &qp;
}

void Recorder::on_sent(const QueuePair& qp, const transport::wire::Bth& bth) {
  Seen& seen = seen_[to_integer(qp.number())];
  if (transport::wire::info(bth.opcode).is_request) {
    if (seen.furthest && distance(*seen.furthest, bth.psn) <= 0) {
      journal_.describe_next_sent(fmt::format("sent again: {}", seen.reason_to_repeat));
    } else {
      seen.furthest = bth.psn;
    }
  }
  note_state(qp);
}

std::unique_ptr<QpMonitor> Recorder::watch(QueuePair& qp, std::unique_ptr<QpMonitor> next) {
  seen_[to_integer(qp.number())] = {};
  return std::make_unique<QpRecorder>(*this, qp, std::move(next));
}

}  // namespace urnic::nic
