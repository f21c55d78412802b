// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/flow_observer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "tools/simulation/seeds/core/fingerprint.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {
namespace {

constexpr std::size_t kFingerprints = 8192;       // more than can be in flight
constexpr std::size_t kRememberedMessages = 600;  // late duplicates may still be answered

constexpr std::size_t kAtomicBytes = 8;

/// Everything of a request that must be the same when it is sent again, except of READs. AckReq may differ.
std::uint64_t fingerprint_of(const WireView& packet) {
  std::uint64_t hash = fingerprint(packet.payload, packet.opcode | std::uint64_t{packet.solicited} << 8);
  hash = combine(hash, packet.immediate | std::uint64_t{packet.flush} << 32);
  hash = combine(combine(hash, packet.swap_or_add), packet.compare ^ packet.invalidated_rkey);
  hash = combine(combine(hash, packet.address), packet.xrc_srq);
  return combine(hash, std::uint64_t{packet.rkey} << 32 | packet.length);
}

}  // namespace

FlowObserver::FlowObserver(const Limits& limits)
    : limits_(limits),
      fingerprints_(kFingerprints),
      next_(4 * kPsns + limits.first_psn),
      position_(next_),
      acknowledged_(next_),
      expected_(next_),
      answered_(next_) {
  if (limits.recovery == transport::Recovery::kSelectiveRepeat) {
    selective_ = Selective{.requester = SelectiveRequester(next_), .responder = SelectiveResponder(next_)};
  }
}

std::uint64_t FlowObserver::extend(std::uint32_t psn) const {
  const std::uint64_t ahead = (psn - next_) % kPsns;
  return ahead < kPsns / 2 ? next_ + ahead : next_ + ahead - kPsns;
}

/// A READ takes a PSN for each of its responses (fact 28).
std::uint64_t FlowObserver::psns_of(const WireView& request) const {
  if (request.kind != PacketKind::kReadRequest) return 1;
  return std::max<std::uint64_t>((std::uint64_t{request.length} + limits_.mtu_bytes - 1) / limits_.mtu_bytes,
                                 1);
}

FlowObserver::Message* FlowObserver::find(std::uint64_t psn) {
  auto after =
      std::upper_bound(messages_.begin(), messages_.end(), psn,
                       [](std::uint64_t value, const Message& message) { return value < message.first; });
  if (after == messages_.begin()) return nullptr;
  Message& message = *--after;
  return psn < message.end ? &message : nullptr;
}

// ---------------------------------------------------------------------------------------------------------
// The requester's packets

FlowObserver::Complaint FlowObserver::on_request_sent(const WireView& packet, Time now) {
  const std::uint64_t psn = extend(packet.psn);
  if (psn > next_) return fmt::format("PSN gap: {:#x} was due", next_ % kPsns);
  if (auto complaint = check_order(psn, now)) return complaint;
  if (acknowledged_ == next_) timer_started_ = now;
  attempts_before_ = {};
  waits_for_receiver_ = false;
  since_ack_request_ = packet.ack_request ? 0 : since_ack_request_ + 1;
  auto complaint = psn == next_ ? on_new_request(packet, psn, now) : on_repeated_request(packet, psn);
  position_ = psn + psns_of(packet);
  return complaint;
}

// A requester goes on where it was, or where an acknowledgement took it, or goes back; never ahead.
FlowObserver::Complaint FlowObserver::check_order(std::uint64_t psn, Time now) {
  if (now < not_ready_until_) {
    return fmt::format("sent {} us before the receiver said it would be ready",
                       (not_ready_until_ - now).count() / 1000);
  }
  if (selective_) return check_selective_order(psn, now);
  const std::uint64_t due = std::max(position_, acknowledged_);
  if (psn > due) return fmt::format("skipped from PSN {:#x}", due % kPsns);
  if (psn == due) return std::nullopt;

  if (psn < acknowledged_) {
    return fmt::format("sent again though all before {:#x} is acknowledged", acknowledged_ % kPsns);
  }
  if (!may_go_back_ && now - timer_started_ < limits_.ack_timeout) {
    return fmt::format("sent again without a NAK and {} us before the ACK timeout",
                       (timer_started_ + limits_.ack_timeout - now).count() / 1000);
  }
  // Something acknowledged after a NAK and before the first repetition starts the timer too.
  timer_started_ = may_go_back_ ? std::max(timer_started_, told_at_) : now;
  may_go_back_ = false;
  ++counts_.rewinds;
  ++attempts_.rewinds;
  return std::nullopt;
}

// What is not lost is sent again after a timeout only. Each timeout begins with the oldest packet: a retry is
// counted whenever that is sent again, beside those that a NAK takes.
FlowObserver::Complaint FlowObserver::check_selective_order(std::uint64_t psn, Time now) {
  if (psn == next_) return std::nullopt;
  if (psn < acknowledged_) {
    return fmt::format("sent again though all before {:#x} is acknowledged", acknowledged_ % kPsns);
  }
  if (waits_for_receiver_) timer_started_ = std::max(timer_started_, not_ready_until_);
  const Time overdue_since = timer_started_ + limits_.ack_timeout;
  const bool is_overdue = now >= overdue_since;
  if (is_overdue && !selective_->requester.may_repeat(psn)) {
    // What it sent again since may have been the beginning.
    const Time begun = selective_->requester.oldest_sent_at();
    timer_started_ = begun >= overdue_since ? begun : now;
    if (auto complaint = selective_->requester.on_timeout(psn, overdue_since)) return complaint;
  } else if (is_overdue && psn == acknowledged_) {
    // It may be sent again anyway, so a timeout does not show, which forgets what the peer holds.
    selective_->requester.may_go_back();
  }
  ++counts_.selective_repetitions;
  if (psn == acknowledged_) ++attempts_.rewinds;
  return selective_->requester.on_repeated(psn, now);
}

FlowObserver::Complaint FlowObserver::on_new_request(const WireView& packet, std::uint64_t psn, Time now) {
  if (messages_.empty() || messages_.back().is_complete) {
    if (!packet.is_first) return "a message begins with neither FIRST nor ONLY";
    if (auto complaint = read_rest_ > 0 ? go_on_with_read(packet) : begin_message(packet)) return complaint;
    messages_.push_back({.first = psn,
                         .end = psn,
                         .number = forgotten_messages_ + messages_.size() + 1,
                         .kind = packet.kind,
                         .address = packet.address,
                         .rkey = packet.rkey,
                         .xrc_srq = packet.xrc_srq,
                         .length = packet.length});
  } else if (packet.is_first || packet.kind != messages_.back().kind) {
    return "a message begins inside another";
  } else if (packet.xrc_srq != messages_.back().xrc_srq) {
    return "names another XRC SRQ than the first packet of its message";
  }
  if (auto complaint = check_payload(packet)) return complaint;

  Message& message = messages_.back();
  message.is_complete = packet.is_last;
  message.bytes += static_cast<std::uint32_t>(packet.payload.size());
  if (packet.kind == PacketKind::kWrite &&
      (packet.is_last ? message.bytes != message.length : message.bytes >= message.length)) {
    return fmt::format("{} bytes of a WRITE whose RETH says {} (fact 29)", message.bytes, message.length);
  }
  message.end = next_ = psn + psns_of(packet);
  if (packet.is_last && (packet.kind == PacketKind::kSend || packet.has_immediate)) {
    receive_takers_.push_back({.end = next_});
  }
  if (psn / kPsns != (next_ - 1) / kPsns) {
    ++counts_.psn_wraps_inside_read;
  } else if (psn % kPsns == 0 && !packet.is_first) {
    ++counts_.psn_wraps_inside_message;
  }

  if (packet.kind != PacketKind::kReadRequest) fingerprint(psn) = fingerprint_of(packet);
  if (auto complaint = check_window(packet, psn, now)) return complaint;
  forget_old_messages();
  return std::nullopt;
}

FlowObserver::Complaint FlowObserver::begin_message(const WireView& packet) {
  if (posted_.empty()) return "a message that was not posted";
  if (is_draining_) return "begins a message though the queue pair is in SQD";
  const Posted posted = posted_.front();
  posted_.pop_front();
  if (posted.fence && reads_in_flight_ > 0) return "a fenced request while a READ or atomic is in flight";
  if (packet.xrc_srq != posted.xrc_srq) {
    return fmt::format("names XRC SRQ {:#x} instead of {:#x}", packet.xrc_srq, posted.xrc_srq);
  }
  if (posted.read_bytes == 0) return std::nullopt;
  if (packet.length > posted.read_bytes) {
    return fmt::format("asks for {} bytes of a READ of {}", packet.length, posted.read_bytes);
  }
  read_rest_ = posted.read_bytes - packet.length;
  counts_.reads_in_pieces += read_rest_ > 0 ? 1 : 0;
  return std::nullopt;
}

// Each request but the last asks for whole packets, so that the PSNs are as with one request for all.
FlowObserver::Complaint FlowObserver::go_on_with_read(const WireView& packet) {
  const Message& before = messages_.back();
  const bool goes_on = packet.kind == PacketKind::kReadRequest && packet.rkey == before.rkey &&
                       packet.xrc_srq == before.xrc_srq && packet.address == before.address + before.length &&
                       before.length > 0 && before.length % limits_.mtu_bytes == 0 &&
                       packet.length <= read_rest_;
  if (!goes_on) return fmt::format("does not ask for the {} bytes that are left of a READ", read_rest_);
  read_rest_ -= packet.length;
  return std::nullopt;
}

FlowObserver::Complaint FlowObserver::check_window(const WireView& packet, std::uint64_t psn, Time now) {
  ++(packet.wants_response() ? reads_in_flight_ : data_in_flight_);
  if (reads_in_flight_ > limits_.max_reads_in_flight) {
    return fmt::format("{} READs and atomics in flight of at most {}", reads_in_flight_,
                       limits_.max_reads_in_flight);
  }
  if (selective_) {
    const SelectiveRequester::Request request{
        .psn = psn, .end = next_, .wants_response = packet.wants_response()};
    if (auto complaint = selective_->requester.on_new(request, limits_.window_packets, now)) return complaint;
  }
  if (packet.kind == PacketKind::kReadRequest && reads_in_flight_ > 1 &&
      read_psns_in_flight() > limits_.window_packets) {
    return fmt::format("{} responses in flight of at most {}", read_psns_in_flight(), limits_.window_packets);
  }
  if (packet.wants_response()) return std::nullopt;

  if (!selective_ && data_in_flight_ > limits_.window_packets) {
    return fmt::format("{} packets in flight of at most {}", data_in_flight_, limits_.window_packets);
  }
  counts_.full_windows += data_in_flight_ == limits_.window_packets ? 1 : 0;
  if (packet.is_last && !packet.ack_request) return "the last packet of a message without AckReq (fact 18)";
  if (since_ack_request_ >= limits_.window_packets) return "a window of packets without AckReq";
  return std::nullopt;
}

// Of all that have a response.
std::uint64_t FlowObserver::read_psns_in_flight() const {
  std::uint64_t psns = 0;
  for (auto message = messages_.rbegin(); message != messages_.rend() && message->end > acknowledged_;
       ++message) {
    if (message->wants_response()) psns += message->end - std::max(message->first, acknowledged_);
  }
  return psns;
}

FlowObserver::Complaint FlowObserver::on_repeated_request(const WireView& packet, std::uint64_t psn) {
  const Message* const message = find(psn);
  if (message == nullptr) return "sent again though it was never sent";
  if (packet.kind != PacketKind::kReadRequest) {
    if (fingerprint(psn) != fingerprint_of(packet)) return "sent again and not the same as the first time";
    counts_.messages_resumed_inside += psn != message->first && psn == acknowledged_ ? 1 : 0;
    return std::nullopt;
  }
  // A READ that was answered in part asks for the rest (fact 26).
  const std::uint64_t skipped = (psn - message->first) * limits_.mtu_bytes;
  if (!message->is_read() || packet.xrc_srq != message->xrc_srq || packet.rkey != message->rkey ||
      packet.address != message->address + skipped || packet.length != message->length - skipped) {
    return fmt::format("READ resumed wrongly: {} bytes at {:#x} were asked from PSN {:#x} on",
                       message->length, message->address, message->first % kPsns);
  }
  counts_.reads_resumed_inside += skipped > 0 ? 1 : 0;
  return std::nullopt;
}

// Fact 29.
FlowObserver::Complaint FlowObserver::check_payload(const WireView& packet) const {
  const std::size_t size = packet.payload.size();
  if (packet.kind == PacketKind::kAtomicWrite) {
    const bool fits = size == kAtomicBytes && packet.length == kAtomicBytes;
    return fits ? std::nullopt
                : Complaint(fmt::format("an ATOMIC WRITE of {} bytes, RETH {}", size, packet.length));
  }
  if (packet.wants_response()) return std::nullopt;
  if (!packet.is_last && size != limits_.mtu_bytes) {
    return fmt::format("{} bytes in a packet that is not the last", size);
  }
  if (size > limits_.mtu_bytes) return fmt::format("{} bytes are more than the path MTU", size);
  if (packet.is_last && !packet.is_first && size == 0) return "an empty LAST packet";
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------------------
// What the requester learns

void FlowObserver::on_response_taken(const WireView& packet, Time now) {
  const std::uint64_t psn = extend(packet.psn);
  if (psn < acknowledged_ || psn >= next_) return;
  if (packet.is_selective_nak) return on_selective_nak_taken(packet, psn, now);
  if (selective_ && (packet.is_ack() || packet.kind != PacketKind::kAcknowledge)) {
    selective_->requester.on_told(psn + 1);
  }
  if (packet.kind != PacketKind::kAcknowledge) {
    if (!acknowledge_before(psn, now)) return;
    const Message* const message = find(psn);
    if (message == nullptr || !message->wants_response()) return;
    acknowledged_ = psn + 1;
    if (selective_) selective_->requester.on_acknowledged(acknowledged_);
    reads_in_flight_ -= acknowledged_ == message->end ? 1 : 0;
    made_progress(now);
    // What was acknowledged after this answer while it was missing.
    if (selective_) pass_to(selective_->requester.told(), now);
  } else if (packet.is_ack()) {
    acknowledge_before(psn + 1, now);
  } else {
    const bool passes_read = !acknowledge_before(psn, now);
    if (selective_) selective_->requester.on_told(psn);
    if (packet.is_rnr_nak()) {
      // What is refused is not sent before its time, even when a READ before it has to be asked again (fact
      // 34).
      counts_.rnr_behind_unanswered += passes_read ? 1 : 0;
      on_receiver_not_ready(packet.syndrome, now);
      if (selective_) selective_->requester.on_refused(psn);
    } else if (packet.is_sequence_nak()) {
      if (!passes_read) may_go_back(now);
    } else if (selective_ && passes_read) {
      selective_->requester.on_refused_for_good(psn);
    }
  }
}

// What it says counts also where an answer before it is missing.
void FlowObserver::on_selective_nak_taken(const WireView& packet, std::uint64_t psn, Time now) {
  acknowledge_before(psn, now);
  if (!selective_) return;
  const SelectiveRequester::News news = selective_->requester.on_selective_nak(packet, psn, now);
  if (news.is_sign_of_life) begin_attempts();
  attempts_.rewinds += news.begins_round ? 1 : 0;
}

// Until it has sent again, another one belongs to the same refusal. It has to be heeded as long as the first
// one alone would have made it wait.
void FlowObserver::on_receiver_not_ready(std::uint8_t syndrome, Time now) {
  const Time until = now + rnr_timer(syndrome & 0x1f);
  if (waits_for_receiver_) {
    if (now < first_refusal_until_) {
      not_ready_until_ = std::max(not_ready_until_, until);
    } else if (std::exchange(has_progressed_since_refusal_, false)) {
      ++attempts_
            .rnr_naks;  // a refusal of its own, unless the requester has yet to see that its wait is over
    }
    return;
  }
  waits_for_receiver_ = true;
  has_progressed_since_refusal_ = false;
  not_ready_until_ = first_refusal_until_ = until;
  ++attempts_.rnr_naks;
  may_go_back(not_ready_until_);
}

// Everything before `psn` is acknowledged, except that nothing passes a READ or atomic that was not answered:
// that is an implied NAK (fact 21).
bool FlowObserver::acknowledge_before(std::uint64_t psn, Time now) {
  const bool passed = pass_to(psn, now);
  if (!passed) on_answer_lost(now);
  return passed;
}

bool FlowObserver::pass_to(std::uint64_t psn, Time now) {
  const std::uint64_t before = acknowledged_;
  std::uint32_t ended = 0;
  bool passed = true;
  while (acknowledged_ < psn) {
    const Message* const message = find(acknowledged_);
    if (message == nullptr || message->wants_response()) {
      passed = false;
      break;
    }
    const std::uint64_t to = std::min(psn, message->end);
    data_in_flight_ -= to - acknowledged_;
    acknowledged_ = to;
    ended += message->is_complete && to == message->end ? 1 : 0;
    counts_.acks_inside_message += to != message->end || !message->is_complete ? 1 : 0;
  }
  counts_.coalesced_acks += ended > 1 ? 1 : 0;
  if (selective_) selective_->requester.on_acknowledged(acknowledged_);
  if (acknowledged_ != before) made_progress(now);
  return passed;
}

void FlowObserver::on_answer_lost(Time now) {
  if (!selective_) return may_go_back(now);
  attempts_.rewinds += selective_->requester.on_answer_lost() ? 1 : 0;
}

void FlowObserver::may_go_back(Time told_at) {
  may_go_back_ = true;
  told_at_ = told_at;
}

void FlowObserver::made_progress(Time now) {
  // It may have gone back when its timer ran out, and not have come to send anything: its port was full.
  if (now - timer_started_ >= limits_.ack_timeout) {
    may_go_back(now);
    if (selective_) selective_->requester.may_go_back();
  }
  timer_started_ = now;
  begin_attempts();
  attempts_.rnr_naks = 0;
  has_progressed_since_refusal_ = true;
}

void FlowObserver::begin_attempts() {
  attempts_before_ = attempts_since_progress();
  attempts_.rewinds = 0;
}

FlowObserver::Attempts FlowObserver::attempts_since_progress() const {
  return {.rewinds = std::max(attempts_.rewinds, attempts_before_.rewinds),
          .rnr_naks = std::max(attempts_.rnr_naks, attempts_before_.rnr_naks)};
}

void FlowObserver::forget_old_messages() {
  while (messages_.size() > kRememberedMessages && messages_.front().end <= acknowledged_) {
    messages_.pop_front();
    ++forgotten_messages_;
  }
}

}  // namespace urnic::sim
