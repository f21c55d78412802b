// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/responder_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/conformance/replay/answers.h"
#include "tools/conformance/replay/inference.h"
#include "tools/conformance/replay/memory.h"
#include "tools/conformance/replay/packets.h"
#include "tools/conformance/replay/stage.h"

namespace urnic::replay {

namespace {

using check::Operation;
using transport::Access;

constexpr std::size_t kGrhAreaBytes = 40;  // fact 42

constexpr Access kEverything = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic |
                               Access::kFlushGlobal | Access::kFlushPersistent;

transport::QpConfig config_of(const Direction& direction, const Inference& inference) {
  transport::QpConfig config;
  config.service = service_of(direction.service);
  config.local_qp = transport::QpNumber{direction.responder_qp};
  config.remote_qp = transport::QpNumber{direction.requester_qp};
  config.access = kEverything;
  config.path_mtu = static_cast<transport::PathMtu>(direction.path_mtu);
  config.receive_psn = transport::Psn(psn_of(direction.events.front().psn).value());
  config.max_responder_resources = 255;  // more than a requester may have outstanding
  config.min_rnr_timer = inference.rnr_timer();
  config.qkey = inference.q_key();
  return config;
}

class ResponderReplay {
 public:
  ResponderReplay(const Direction& direction, const std::vector<Message>& messages,
                  const ResponderOptions& options)
      : direction_(direction),
        messages_(messages),
        options_(options),
        inference_(direction),
        config_(config_of(direction, inference_)),
        stage_(memory_, config_, 0),
        first_ns_(direction.events.front().packet->time_ns),
        // A READ that a hostile capture makes up may ask for a million packets.
        budget_(1024 + 16 * direction.events.size()) {
    outcome_.side = Side::kResponder;
    outcome_.ladder = Ladder(options.keep_ladder);
  }

  Outcome run();

 private:
  bool is_datagram() const { return direction_.service == check::Service::kUd; }
  bool answers() const { return direction_.service == check::Service::kRc; }
  ExtendedPsn expected_near(ExtendedPsn psn) const {
    return extended_psn_near(psn, check::Psn(stage_.endpoint().next_receive_psn().value()));
  }
  void on_request(std::size_t index);
  void prepare(std::size_t index, bool is_next, bool is_repeat);
  void post_receive(const Event& event);
  void learn(std::size_t index, bool is_repeat);
  bool drain(std::size_t index, bool is_repeat);
  void check_written(const Event& event, bool is_executed);
  void expect_receive(const Message& message);
  void check_receives();
  bool is_received(std::size_t index) const;
  void note_inference();
  void draw(const AnswerComparison* comparison);

  const Direction& direction_;
  const std::vector<Message>& messages_;
  const ResponderOptions& options_;
  Inference inference_;
  ResponderMemory memory_;
  transport::QpConfig config_;
  Stage stage_;
  std::int64_t first_ns_;
  std::size_t budget_;
  Outcome outcome_;
  std::vector<OwnAnswer> own_;
  std::vector<Progress> progress_;
  std::vector<const Message*> expected_;  // what must have been received, in this order
  std::size_t posted_ = 0;
  std::size_t not_ready_ = 0;
  std::size_t datagrams_ = 0;
};

Outcome ResponderReplay::run() {
  for (std::size_t index = 0; index < direction_.events.size(); ++index) {
    if (direction_.events[index].is_request) on_request(index);
    if (outcome_.verdict == Verdict::kNotPlayed) return std::move(outcome_);
    progress_.push_back(
        {.expected = expected_near(direction_.events[index].psn), .msn = stage_.endpoint().msn()});
  }
  note_inference();
  if (answers()) {
    AnswerComparison comparison(direction_, own_, progress_);
    const bool differed_before = outcome_.verdict == Verdict::kMismatch;
    if (!differed_before) comparison.run(outcome_);
    if (outcome_.verdict == Verdict::kEqual) check_receives();
    draw(&comparison);
  } else {
    check_receives();
    draw(nullptr);
  }
  return std::move(outcome_);
}

void ResponderReplay::on_request(std::size_t index) {
  const Event& event = direction_.events[index];
  if (inference_.is_lost_behind(index)) return outcome_.use(AllowedDeviation::kRequestLostBehind);
  // Nothing follows from what an unreliable service makes of a copy.
  if (event.packet->is_copy) outcome_.use(AllowedDeviation::kNetworkCopy);
  if (event.packet->is_copy && !answers()) return;
  const ExtendedPsn expected = expected_near(event.psn);
  const bool is_repeat = answers() && event.psn < expected;
  const bool is_next = !answers() || event.psn == expected;
  prepare(index, is_next, is_repeat);
  if (!stage_.give(*event.packet, time_of(event.packet->time_ns, first_ns_))) {
    outcome_.differ(event.packet->number,
                    fmt::format("our parser refuses {}", describe(event.packet->packet)));
  }
  if (!drain(index, is_repeat)) {
    outcome_.verdict = Verdict::kNotPlayed;
    outcome_.what =
        fmt::format("frame {}: our responder would send many times the packets that the capture has",
                    event.packet->number);
    return;
  }
  memory_.refuse(false);
  stage_.endpoint().update(config_);
  const bool is_executed = is_next && (!answers() || expected_near(event.psn) > event.psn);
  check_written(event, is_executed);
  if (!is_executed || !event.packet->packet.info->ends_message()) return;
  if (is_datagram()) {
    const Message& message = messages_[datagrams_++];
    if (message.q_key == config_.qkey) expect_receive(message);
  } else if (const auto message = find_message(messages_, event.psn)) {
    expect_receive(messages_[*message]);
  }
}

/// Makes the surroundings what they must have been when this request arrived.
void ResponderReplay::prepare(std::size_t index, bool is_next, bool is_repeat) {
  const Event& event = direction_.events[index];
  const check::Packet& packet = event.packet->packet;
  const auto refusal = inference_.refusal_of(index);
  if (inference_.finds_no_receive(index)) {
    ++not_ready_;
  } else if (is_next) {
    post_receive(event);
  }
  if (is_next || is_repeat) learn(index, is_repeat);
  if (!refusal) return;
  memory_.refuse(*refusal == check::kRemoteAccessNak);
  const bool reaches_for_memory = packet.info->has_reth || packet.info->has_atomic;
  if (*refusal == check::kInvalidRequestNak && reaches_for_memory) {
    transport::QpConfig without_rights = config_;
    without_rights.access = Access::kNone;
    stage_.endpoint().update(without_rights);
  }
}

/// A receive is posted just before it is needed.
void ResponderReplay::post_receive(const Event& event) {
  const check::OpcodeInfo& info = *event.packet->packet.info;
  const bool takes_receive =
      (info.operation == Operation::kSend && (info.starts_message() || !answers())) || info.has_immediate;
  if (!takes_receive || stage_.has_receive()) return;
  const auto message = is_datagram() ? std::nullopt : find_message(messages_, event.psn);
  stage_.post_receive({.address = posted_++ * ResponderMemory::kRoom,
                       .length = message ? inference_.room_for(messages_[*message]) : Inference::kAnyRoom,
                       .lkey = transport::Lkey{1}});
}

/// Takes over what the captured responder had in memory, from its answers to this request.
void ResponderReplay::learn(std::size_t index, bool is_repeat) {
  const Event& event = direction_.events[index];
  const check::Packet& packet = event.packet->packet;
  const check::OpcodeInfo& info = *packet.info;
  const bool keeps = is_repeat && !options_.memory_changes;
  if (info.operation == Operation::kRead) {
    const ExtendedPsn end = event.psn + direction_.packets_for(packet.length);
    const auto found = inference_.answers_to(event.psn, end, index);
    budget_ -= std::min(budget_, found.size());
    for (const auto& [at, answer] : found) {
      if (answer->packet.info->operation != Operation::kReadResponse) continue;
      const std::uint64_t offset = static_cast<std::uint64_t>(at - event.psn) * direction_.path_mtu;
      memory_.learn(packet.r_key, packet.address + offset, answer->packet.payload,
                    keeps                     ? ResponderMemory::Belief::kKeepKnown
                    : options_.memory_changes ? ResponderMemory::Belief::kTakeAll
                                              : ResponderMemory::Belief::kKeepWritten);
    }
  } else if (info.is_atomic() && !is_repeat) {
    for (const auto& [at, answer] : inference_.answers_to(event.psn, event.psn + 1, index)) {
      if (!answer->packet.info->has_atomic_ack) continue;
      memory_.learn(packet.r_key, packet.address, std::as_bytes(std::span(&answer->packet.original, 1)),
                    options_.memory_changes ? ResponderMemory::Belief::kTakeAll
                                            : ResponderMemory::Belief::kKeepWritten);
    }
  }
}

/// Takes everything that our responder answers. False when that is far too much.
bool ResponderReplay::drain(std::size_t index, bool is_repeat) {
  const Event& event = direction_.events[index];
  const transport::Time now = time_of(event.packet->time_ns, first_ns_);
  while (true) {
    const auto bytes = stage_.take(now);
    if (bytes.empty()) return true;
    if (budget_ == 0) return false;
    --budget_;
    OwnPacket packet(bytes);
    const ExtendedPsn psn = extended_psn_near(event.psn, packet.packet().psn);
    own_.push_back({.packet = std::move(packet), .psn = psn, .event = index, .is_repeat = is_repeat});
  }
}

/// A WRITE that was executed is in memory.
void ResponderReplay::check_written(const Event& event, bool is_executed) {
  const check::OpcodeInfo& info = *event.packet->packet.info;
  if (!is_executed || info.operation != Operation::kWrite || !info.ends_message()) return;
  const auto index = find_message(messages_, event.psn);
  if (!index || !messages_[*index].is_whole) return;
  const Message& message = messages_[*index];
  std::vector<std::byte> found(message.payload.size());
  memory_.look(message.r_key, message.address, found);
  ++outcome_.compared;
  if (found != message.payload) {
    outcome_.differ(event.packet->number, "what was written is not what ours has in memory");
  }
}

void ResponderReplay::expect_receive(const Message& message) {
  if (message.takes_receive() && message.is_whole) expected_.push_back(&message);
}

void ResponderReplay::check_receives() {
  std::size_t received = 0;
  for (const transport::Completion& completion : stage_.receives()) {
    if (completion.status != transport::CompletionStatus::kSuccess) continue;
    if (received >= expected_.size()) {
      outcome_.differ(0, "ours completes a receive for which no message came");
      return;
    }
    ++outcome_.compared;
    if (!is_received(received)) {
      outcome_.differ(expected_[received]->frame, "what ours received is not the message that was sent");
      return;
    }
    ++received;
  }
  if (received < expected_.size()) {
    outcome_.differ(expected_[received]->frame, "ours completes no receive for this message");
  }
}

bool ResponderReplay::is_received(std::size_t index) const {
  const Message& message = *expected_[index];
  const transport::Completion& completion = stage_.receives()[index];
  std::vector<std::byte> bytes;
  if (is_datagram()) {
    const auto header = message.datagram->frame.ip_header;
    bytes.resize(kGrhAreaBytes - std::min(header.size(), kGrhAreaBytes));
    bytes.insert(bytes.end(), header.begin(),
                 header.begin() + static_cast<std::ptrdiff_t>(kGrhAreaBytes - bytes.size()));
  }
  const bool is_write = message.operation == Operation::kWrite;
  if (!is_write) bytes.insert(bytes.end(), message.payload.begin(), message.payload.end());
  const auto found = memory_.received(index);
  // The receive may have got bytes of a message that was dropped: they stay after the bytes of the next one.
  return found.size() >= bytes.size() && std::equal(bytes.begin(), bytes.end(), found.begin()) &&
         completion.byte_length == (is_write ? message.payload.size() : bytes.size()) &&
         completion.has_immediate == message.immediate.has_value() &&
         (!message.immediate || completion.immediate == *message.immediate) &&
         completion.has_invalidate == message.invalidate.has_value() &&
         (!message.invalidate || completion.invalidated_rkey == transport::Rkey{*message.invalidate}) &&
         completion.solicited == message.solicited;
}

void ResponderReplay::note_inference() {
  if (not_ready_ > 0) {
    outcome_.notes.push_back(fmt::format("no receive posted at {} arrivals (RNR NAK)", not_ready_));
  }
  for (std::size_t index = 0; index < direction_.events.size(); ++index) {
    const auto refusal = inference_.refusal_of(index);
    if (!refusal) continue;
    const Event& event = direction_.events[index];
    const bool is_send = event.packet->packet.info->operation == Operation::kSend;
    const char* const what = *refusal == check::kRemoteAccessNak ? "no such key, or not this range"
                             : is_send                           ? "a receive that is too small"
                                                                 : "no right on the queue pair";
    outcome_.notes.push_back(
        fmt::format("{} at frame {} ({})", what, event.packet->number, check::describe_syndrome(*refusal)));
  }
}

/// The ladder: requests, with what ours answered and the capture has not, and captured answers beside ours.
void ResponderReplay::draw(const AnswerComparison* comparison) {
  std::size_t next_own = 0;
  const auto add_unpaired = [&](std::size_t event) {
    for (; next_own < own_.size() && own_[next_own].event <= event; ++next_own) {
      const OwnAnswer& own = own_[next_own];
      const Match match = comparison != nullptr ? comparison->own_matches()[next_own] : Match{};
      if (match.partner || (comparison != nullptr && comparison->difference_partner() == &own)) continue;
      outcome_.ladder.add({.ours = "< " + describe(own.packet.packet()),
                           .note = match.deviation ? info_of(*match.deviation).name : ""});
    }
  };
  for (std::size_t index = 0; index < direction_.events.size() && outcome_.ladder.wants_rows(); ++index) {
    const Event& event = direction_.events[index];
    const bool differs = outcome_.verdict == Verdict::kMismatch && outcome_.frame == event.packet->number;
    Row row{.frame = event.packet->number,
            .time_ns = event.packet->time_ns - first_ns_,
            .captured = (event.is_request ? "> " : "< ") + describe(event.packet->packet),
            .note = event.packet->is_copy ? info_of(AllowedDeviation::kNetworkCopy).name : "",
            .is_difference = differs};
    if (differs) row.note = outcome_.what;
    if (event.is_request) {
      row.ours = inference_.is_lost_behind(index) ? "lost" : "given";
      outcome_.ladder.add(std::move(row));
      add_unpaired(index);
      continue;
    }
    if (comparison != nullptr) {
      const auto match = comparison->captured_matches().find(index);
      if (match != comparison->captured_matches().end()) {
        if (match->second.partner) row.ours = "< " + describe(own_[*match->second.partner].packet.packet());
        if (match->second.deviation) row.note = info_of(*match->second.deviation).name;
      } else if (differs && comparison->difference_partner() != nullptr) {
        row.ours = "< " + describe(comparison->difference_partner()->packet.packet());
      }
    }
    outcome_.ladder.add(std::move(row));
  }
}

}  // namespace

Outcome replay_responder(const Direction& direction, const std::vector<Message>& messages,
                         const ResponderOptions& options) {
  return ResponderReplay(direction, messages, options).run();
}

}  // namespace urnic::replay
