// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/requester_replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "tools/conformance/replay/answer_model.h"
#include "tools/conformance/replay/memory.h"
#include "tools/conformance/replay/packets.h"
#include "tools/conformance/replay/stage.h"

namespace urnic::replay {

namespace {

using check::Operation;
using transport::SendOperation;
using Effect = AnswerModel::Effect;

constexpr int kMostLeftOver = 16;

SendOperation operation_of(const Message& message) {
  switch (message.operation) {
    case Operation::kWrite:
      return message.immediate ? SendOperation::kWriteWithImmediate : SendOperation::kWrite;
    case Operation::kRead:
      return SendOperation::kRead;
    case Operation::kCompareSwap:
      return SendOperation::kCompareSwap;
    case Operation::kFetchAdd:
      return SendOperation::kFetchAdd;
    case Operation::kFlush:
      return SendOperation::kFlush;
    case Operation::kAtomicWrite:
      return SendOperation::kAtomicWrite;
    default:
      if (message.immediate) return SendOperation::kSendWithImmediate;
      return message.invalidate ? SendOperation::kSendWithInvalidate : SendOperation::kSend;
  }
}

transport::SendRequest request_of(const Message& message, std::size_t index) {
  const auto flush_access =
      (message.flush_type & 1 ? transport::Access::kFlushGlobal : transport::Access::kNone) |
      (message.flush_type & 2 ? transport::Access::kFlushPersistent : transport::Access::kNone);
  return {.wr_id = index,
          .operation = operation_of(message),
          .signaled = true,
          .solicited = message.solicited,
          .immediate = message.immediate.value_or(0),
          .remote_address = message.address,
          .rkey = transport::Rkey{message.r_key},
          .invalidate_rkey = transport::Rkey{message.invalidate.value_or(0)},
          .compare = message.compare,
          .swap_or_add = message.swap_or_add,
          .destination = {.address = transport::AddressHandleId{1},
                          .qp = transport::QpNumber{message.destination_qp},
                          .qkey = message.q_key},
          .flush = {.length = message.length,
                    .access = flush_access,
                    .scope = message.flush_selectivity == 0 ? transport::FlushScope::kRange
                                                            : transport::FlushScope::kRegion}};
}

transport::QpConfig config_of(const Direction& direction, ExtendedPsn first) {
  transport::QpConfig config;
  config.service = service_of(direction.service);
  config.local_qp = transport::QpNumber{direction.requester_qp};
  config.remote_qp = transport::QpNumber{direction.responder_qp};
  config.path_mtu = static_cast<transport::PathMtu>(direction.path_mtu);
  config.send_psn = transport::Psn(psn_of(first).value());
  // How much the captured requester dared to have in flight is shown by when it sent.
  config.max_reads_in_flight = 255;
  config.window_packets = config.window_after_timeout = 1u << 22;
  // Its timer is not known. That it ran out is what the capture shows, and on_timeout() is called then only.
  config.ack_timeout = 1;
  return config;
}

bool turns_back(Effect effect) {
  return effect == Effect::kGoBack || effect == Effect::kWait;
}

class RequesterReplay {
 public:
  RequesterReplay(const Direction& direction, const std::vector<Message>& messages, bool keep_ladder)
      : direction_(direction),
        messages_(messages),
        memory_(messages),
        config_(config_of(direction, messages.front().first)),
        stage_(memory_, config_, messages.size()),
        model_(messages),
        first_ns_(direction.events.front().packet->time_ns),
        // An invented capture may go back and forth over what it lacks.
        budget_(8192 + 16 * direction.events.size()),
        next_own_(messages.front().first) {
    outcome_.side = Side::kRequester;
    outcome_.ladder = Ladder(keep_ladder);
    plan();
  }

  Outcome run();

 private:
  static constexpr ExtendedPsn kNowhere = INT64_MAX;

  void plan();
  void on_request(std::size_t index);
  void on_datagram(const Event& event);
  void post_up_to(ExtendedPsn psn);
  void deliver(ExtendedPsn sends_from, bool may_go_back);
  void deliver_one(const Event& answer);
  void hold(const Event& answer, Effect effect);
  void let_timers_run(bool must_go_back);
  std::uint64_t go_backs() const;
  void send_until(const Event& event);
  void compare(const Event& event, const OwnPacket& own);
  void finish();
  void check_completions();
  void check_fetched(std::size_t index);
  void add_row(const Event* event, std::string ours, std::string note, bool is_difference = false);
  void differ(const Event& event, const std::string& ours, const std::string& what);

  const Direction& direction_;
  const std::vector<Message>& messages_;
  RequesterMemory memory_;
  transport::QpConfig config_;
  Stage stage_;
  AnswerModel model_;
  std::int64_t first_ns_;
  Outcome outcome_;
  transport::Time now_{};

  std::vector<ExtendedPsn> sends_from_;  // by event: the lowest PSN that is sent from here on
  std::deque<const Event*> pending_;     // captured answers that our requester was not given yet
  std::map<std::size_t, std::vector<std::byte>> fetched_;  // what captured responses brought, by message
  std::size_t budget_;
  std::size_t posted_ = 0;
  ExtendedPsn next_own_;            // after the packet that our requester sent last
  ExtendedPsn newest_ = INT64_MIN;  // the newest request in the capture so far
  std::uint64_t go_backs_seen_ = 0;
  bool waits_for_receiver_ = false;
  const Event* held_ = nullptr;  // the answer that the captured requester did not react to yet
  std::optional<ExtendedPsn> sent_while_held_;
  bool went_on_ = false;  // it had an answer to something it sent later
};

/// For every event: the lowest PSN that the captured requester sends from there on. None of those answers had
/// reached it that acknowledge this one.
void RequesterReplay::plan() {
  sends_from_.assign(direction_.events.size() + 1, kNowhere);
  for (std::size_t index = direction_.events.size(); index-- > 0;) {
    const Event& event = direction_.events[index];
    const bool sends = event.is_request && !event.packet->is_copy;
    sends_from_[index] = std::min(sends_from_[index + 1], sends ? event.psn : kNowhere);
  }
}

Outcome RequesterReplay::run() {
  for (std::size_t index = 0; index < direction_.events.size(); ++index) {
    const Event& event = direction_.events[index];
    if (outcome_.verdict != Verdict::kEqual) {
      add_row(&event, "", "");
    } else if (!event.is_request) {
      if (sent_while_held_ && event.psn >= *sent_while_held_) went_on_ = true;
      pending_.push_back(&event);
    } else if (event.packet->is_copy) {
      outcome_.use(AllowedDeviation::kNetworkCopy);
      add_row(&event, "", "network copy");
    } else if (direction_.service == check::Service::kUd) {
      on_datagram(event);
    } else {
      on_request(index);
    }
  }
  if (outcome_.verdict == Verdict::kEqual) finish();
  return std::move(outcome_);
}

void RequesterReplay::on_request(std::size_t index) {
  const Event& event = direction_.events[index];
  const bool goes_back = event.psn < next_own_;
  post_up_to(event.psn);
  deliver(sends_from_[index], goes_back);
  now_ = std::max(now_, time_of(event.packet->time_ns, first_ns_));
  let_timers_run(goes_back);
  if (held_ != nullptr && event.psn > newest_ && !sent_while_held_) sent_while_held_ = event.psn;
  newest_ = std::max(newest_, event.psn);
  send_until(event);
}

/// Their PSNs only count; a capture that lacks some is no reason to send them.
void RequesterReplay::on_datagram(const Event& event) {
  now_ = std::max(now_, time_of(event.packet->time_ns, first_ns_));
  const Message& message = messages_[posted_];
  const transport::Psn psn(event.packet->packet.psn.value());
  config_.qkey = message.q_key;
  config_.send_psn = psn;
  if (stage_.endpoint().next_send_psn() != psn) {
    stage_.restart(config_);
  } else {
    stage_.endpoint().update(config_);
  }
  post_up_to(event.psn);
  next_own_ = event.psn;
  send_until(event);
}

void RequesterReplay::post_up_to(ExtendedPsn psn) {
  const bool is_datagram = direction_.service == check::Service::kUd;
  while (posted_ < messages_.size() && messages_[posted_].first <= psn) {
    const Message& message = messages_[posted_];
    const std::uint32_t length = message.operation == Operation::kFlush ? 0 : message.length;
    stage_.post_send(
        request_of(message, posted_),
        {.address = posted_ * RequesterMemory::kRoom, .length = length, .lkey = transport::Lkey{1}});
    ++posted_;
    if (is_datagram) return;
  }
}

/// Gives our requester what the captured one must have had: all answers so far, up to one that acknowledges
/// what is sent yet, would make ours go back before the captured one does, or ends the connection while it
/// goes on.
void RequesterReplay::deliver(ExtendedPsn sends_from, bool may_go_back) {
  for (; !pending_.empty(); pending_.pop_front()) {
    const Event& answer = *pending_.front();
    AnswerModel after = model_;
    const Effect effect = after.apply(answer);
    const bool is_too_early =
        (turns_back(effect) && !may_go_back) || (effect == Effect::kEnd && sends_from != kNowhere);
    if (after.acknowledged() > sends_from || is_too_early) return hold(answer, effect);
    if (effect == Effect::kData) {
      const check::Packet& packet = answer.packet->packet;
      std::vector<std::byte>& bytes = fetched_[find_message(messages_, answer.psn).value_or(model_.head())];
      if (packet.info->has_atomic_ack) {
        const auto number = std::as_bytes(std::span(&packet.original, 1));
        bytes.assign(number.begin(), number.end());
      } else {
        bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
      }
    }
    model_ = after;
    deliver_one(answer);
  }
}

void RequesterReplay::hold(const Event& answer, Effect effect) {
  if (held_ == &answer) return;
  held_ = nullptr;
  sent_while_held_.reset();
  went_on_ = false;
  if (turns_back(effect) || effect == Effect::kEnd) held_ = &answer;
  outcome_.use(AllowedDeviation::kLateReaction);
}

void RequesterReplay::deliver_one(const Event& answer) {
  now_ = std::max(now_, time_of(answer.packet->time_ns, first_ns_));
  if (held_ == &answer) held_ = nullptr;
  sent_while_held_.reset();
  if (answer.packet->is_copy) outcome_.use(AllowedDeviation::kNetworkCopy);
  const auto refusals = [this] { return stage_.counters().value(transport::Counter::kRnrNakReceived); };
  const std::uint64_t refusals_before = refusals();
  const bool taken = stage_.give(*answer.packet, now_);
  waits_for_receiver_ = waits_for_receiver_ || refusals() != refusals_before;
  add_row(&answer, taken ? "given" : "our parser refuses it", "");
  if (!taken) differ(answer, "", fmt::format("our parser refuses {}", describe(answer.packet->packet)));
}

std::uint64_t RequesterReplay::go_backs() const {
  using transport::Counter;
  const transport::Counters& counters = stage_.counters();
  return counters.value(Counter::kPacketSequenceError) + counters.value(Counter::kImpliedNakSequenceError) +
         counters.value(Counter::kRnrNakReceived) + counters.value(Counter::kLocalAckTimeout);
}

/// The RNR timer runs by the capture's clock. The ACK timer runs out when the captured requester goes back
/// and nothing else makes ours do so.
void RequesterReplay::let_timers_run(bool must_go_back) {
  transport::Endpoint& endpoint = stage_.endpoint();
  if (waits_for_receiver_) {
    if (endpoint.next_timeout() > now_) return;
    endpoint.on_timeout(now_);
    waits_for_receiver_ = false;
  }
  if (!must_go_back || go_backs() != go_backs_seen_ || endpoint.next_timeout() == transport::kNever) return;
  now_ = std::max(now_, endpoint.next_timeout());
  endpoint.on_timeout(now_);
  model_.on_timeout();
  outcome_.use(AllowedDeviation::kTimeout);
}

/// Takes packets from our requester up to the one that the captured requester sent. Those before were lost on
/// their way to the place of capture.
void RequesterReplay::send_until(const Event& event) {
  while (true) {
    const std::span<const std::byte> bytes = stage_.take(now_);
    if (bytes.empty()) {
      return differ(event, "",
                    waits_for_receiver_ ? "ours still waits for the RNR timer" : "ours sends nothing");
    }
    const OwnPacket own(bytes);
    const ExtendedPsn at = extended_psn_near(event.psn, own.packet().psn);
    const bool is_read = own.packet().info->operation == Operation::kRead;
    next_own_ = at + (is_read ? direction_.packets_for(own.packet().length) : 1);
    model_.on_sent(next_own_);
    go_backs_seen_ = go_backs();
    if (at >= event.psn) return compare(event, own);
    if (budget_ == 0) {
      outcome_.verdict = Verdict::kNotPlayed;
      outcome_.what =
          fmt::format("frame {}: our requester would send many times the packets that the capture has",
                      event.packet->number);
      return;
    }
    --budget_;
    outcome_.use(AllowedDeviation::kLostRequest);
    add_row(nullptr, describe(own.packet()), "lost before the place of capture");
  }
}

void RequesterReplay::compare(const Event& event, const OwnPacket& own) {
  ++outcome_.compared;
  const auto difference = find_difference(*event.packet, own, 0, &outcome_);
  if (difference) return differ(event, describe(own.packet()), to_string(*difference));
  add_row(&event, describe(own.packet()), "");
}

void RequesterReplay::finish() {
  if (direction_.service != check::Service::kRc) return;
  const std::size_t go_backs_before = go_backs();
  const Event* const unanswered = held_;
  const bool went_on = went_on_;
  deliver(kNowhere, true);
  if (outcome_.verdict != Verdict::kEqual) return;
  if (unanswered != nullptr && went_on) {
    return differ(*unanswered, "",
                  fmt::format("the captured requester goes on after {}, ours would go back to PSN {}",
                              describe(unanswered->packet->packet), psn_of(model_.acknowledged()).value()));
  }
  // The end of a message may be missing, too.
  const bool may_go_on = go_backs() != go_backs_before || !messages_.back().is_whole;
  for (int left = kMostLeftOver; left > 0; --left) {
    const std::span<const std::byte> bytes = stage_.take(now_);
    if (bytes.empty()) break;
    const OwnPacket own(bytes);
    if (!may_go_on) {
      const std::string text = describe(own.packet());
      if (outcome_.differ(0, fmt::format("ours sends {} when the captured requester is done", text))) {
        add_row(nullptr, text, "", true);
      }
      return;
    }
    outcome_.use(AllowedDeviation::kEndOfCapture);
    add_row(nullptr, describe(own.packet()), "the capture ends before this");
  }
  check_completions();
}

/// What is acknowledged must be completed, in order, and a refusal must fail the request that was refused.
void RequesterReplay::check_completions() {
  using transport::CompletionStatus;
  const auto& completions = stage_.sends();
  for (std::size_t index = 0; index < model_.head(); ++index) {
    const bool is_right = index < completions.size() && completions[index].wr_id == index &&
                          completions[index].status == CompletionStatus::kSuccess;
    if (!is_right) {
      outcome_.differ(messages_[index].frame,
                      fmt::format("work request {} is acknowledged, but ours is not completed "
                                  "with success",
                                  index));
      return;
    }
    ++outcome_.compared;
    check_fetched(index);
  }
  const std::size_t head = model_.head();
  if (!model_.has_ended() || head >= messages_.size()) return;
  const bool has_failed = head < completions.size() &&
                          completions[head].status != CompletionStatus::kSuccess &&
                          completions[head].status != CompletionStatus::kWorkRequestFlushed;
  if (!has_failed) {
    outcome_.differ(messages_[head].frame,
                    fmt::format("work request {} is refused, but ours does not fail", head));
  }
}

void RequesterReplay::check_fetched(std::size_t index) {
  const auto expected = fetched_.find(index);
  if (expected == fetched_.end()) return;
  const auto found = memory_.fetched(index);
  if (!std::equal(expected->second.begin(), expected->second.end(), found.begin(), found.end())) {
    outcome_.differ(messages_[index].frame, "what came back is not what ours has in memory");
  }
}

void RequesterReplay::add_row(const Event* event, std::string ours, std::string note, bool is_difference) {
  if (!outcome_.ladder.wants_rows()) return;
  Row row{.ours = std::move(ours), .note = std::move(note), .is_difference = is_difference};
  if (event != nullptr) {
    row.frame = event->packet->number;
    row.time_ns = event->packet->time_ns - first_ns_;
    row.captured = (event->is_request ? "> " : "< ") + describe(event->packet->packet);
    if (event->is_request && !row.ours.empty()) row.ours = "> " + row.ours;
  } else {
    row.ours = "> " + row.ours;
  }
  outcome_.ladder.add(std::move(row));
}

void RequesterReplay::differ(const Event& event, const std::string& ours, const std::string& what) {
  const std::string text = fmt::format("{}: {}", describe(event.packet->packet), what);
  if (outcome_.differ(event.packet->number, text)) add_row(&event, ours, what, true);
}

}  // namespace

Outcome replay_requester(const Direction& direction, const std::vector<Message>& messages, bool keep_ladder) {
  return RequesterReplay(direction, messages, keep_ladder).run();
}

}  // namespace urnic::replay
