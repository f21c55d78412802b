// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The half of FlowObserver that watches the responder.
#include <fmt/core.h>

#include <algorithm>

#include "tools/simulation/seeds/checks/flow_observer.h"

namespace urnic::sim {
namespace {

constexpr std::uint8_t kRemoteAccessError = 0x62;  // fact 19

/// A SEND takes a receive with its first packet, a WRITE with immediate with its last.
bool needs_receive(const WireView& packet) {
  return packet.has_immediate || (packet.kind == PacketKind::kSend && packet.is_first);
}

}  // namespace

void FlowObserver::on_request_taken(const WireView& packet, Time now) {
  const std::uint64_t psn = extend(packet.psn);
  if (has_refused_) return;
  note_pending_acknowledgement(packet, psn, now);
  const std::uint64_t before = expected_;
  if (selective_) {
    selective_->responder.on_taken({.psn = psn,
                                    .end = psn + psns_of(packet),
                                    .may_be_refused = needs_receive(packet) || packet.has_invalidate},
                                   now);
    expected_ = selective_->responder.expected();
  } else if (psn == expected_) {
    expected_ += psns_of(packet);
    nak_out_.reset();
  }
  for (ReceiveTaker& taker : receive_takers_) {
    // What was held is executed when the gap before it has been filled.
    const bool is_executed = selective_ ? taker.end > before && taker.end <= expected_ : taker.end == psn + 1;
    if (is_executed) taker.taken = std::min(taker.taken, now);
  }
  if (psn < before) {
    // It may have had no receive for this packet the first time, and never have come to say so; then it has
    // this one now and nothing of what came after the first one.
    if (needs_receive(packet) && psn >= answered_) least_expected_ = std::min(least_expected_, psn + 1);
    ++counts_.duplicate_requests;
    const bool is_read = packet.kind == PacketKind::kReadRequest;
    counts_.duplicate_reads += is_read ? 1 : 0;
    counts_.duplicate_atomics += packet.wants_response() && !is_read ? 1 : 0;
    repeats_response_ = repeats_response_ || packet.wants_response();
  }
}

// A request that the responder has, as it said before, is acknowledged again (fact 25). Of others the
// observer does not know: the responder may have refused them, or what came before them, and not said so yet.
void FlowObserver::note_pending_acknowledgement(const WireView& request, std::uint64_t psn, Time now) {
  if (psn >= answered_ || request.wants_response()) return;
  if (acknowledgement_pending_since_ == transport::kNever) acknowledgement_pending_since_ = now;
  acknowledgement_pending_of_ = std::max(acknowledgement_pending_of_, psn);
}

FlowObserver::Complaint FlowObserver::on_response_sent(const WireView& packet, Time now) {
  const std::uint64_t psn = extend(packet.psn);
  // A NAK says that it has not what it was asked about, nor anything after it.
  const bool settles =
      packet.is_ack() ? psn >= acknowledgement_pending_of_ : packet.kind == PacketKind::kAcknowledge;
  if (settles) acknowledgement_pending_since_ = transport::kNever;
  if (has_refused_) return "an answer after a refusal";
  if (packet.kind != PacketKind::kAcknowledge) {
    auto complaint = on_answer_sent(packet, psn);
    if (selective_) selective_->responder.on_acknowledged(std::max(answered_, psn + 1), false, now);
    return complaint;
  }
  // A NAK in place of a response that was to be repeated may have others after it.
  if (packet.is_ack() || packet.is_selective_nak || psn >= answered_) repeats_response_ = false;
  if (packet.is_selective_nak) return on_selective_nak_sent(packet, psn, now);
  if (!packet.is_ack()) return on_nak_sent(packet, psn);

  if (psn >= expected_) return fmt::format("acknowledged though {:#x} has not come yet", expected_ % kPsns);
  if (auto complaint = check_answered_before(psn + 1)) return complaint;
  answered_ = std::max(answered_, psn + 1);
  if (selective_) {
    // What reports would acknowledge all that was executed; as long as an answer to some of that is waiting,
    // an ACK says what it can.
    const bool may_report = find_unanswered_before(expected_) == nullptr;
    if (auto complaint = selective_->responder.on_acknowledged(answered_, may_report, now)) return complaint;
  }
  return check_msn(packet, psn + 1, expected_);
}

FlowObserver::Complaint FlowObserver::on_selective_nak_sent(const WireView& packet, std::uint64_t psn,
                                                            Time now) {
  ++counts_.selective_naks;
  if (!selective_) return "a selective NAK on a connection that goes back N";
  if (!packet.is_sequence_nak()) return "a selective NAK whose syndrome is not a PSN sequence error's";
  if (auto complaint = check_answered_before(psn)) return complaint;
  if (auto complaint = selective_->responder.on_selective_nak(packet, psn, now)) return complaint;
  expected_ = answered_ = psn;
  return check_msn(packet, psn, psn);
}

FlowObserver::Complaint FlowObserver::on_answer_sent(const WireView& packet, std::uint64_t psn) {
  Message* const message = find(psn);
  if (message == nullptr || !message->wants_response()) return "answers what was not asked";
  if (psn >= expected_) return "answers a request that has not come yet";
  const bool is_atomic_answer = packet.kind == PacketKind::kAtomicAcknowledge;
  if (is_atomic_answer != (message->kind == PacketKind::kAtomic)) {
    return "answers with another kind of response (fact 32)";
  }
  if (message->is_read()) return on_read_response_sent(packet, psn, *message);

  const bool is_only = packet.is_first && packet.is_last && packet.payload.empty();
  if (!is_only) return "answers with more than an empty ONLY packet (fact 32)";
  if (is_atomic_answer && message->original.value_or(packet.original) != packet.original) {
    return fmt::format("says that it found {:#x}, and said {:#x} before (fact 27)", packet.original,
                       *message->original);
  }
  if (auto complaint = check_answered_before(psn)) return complaint;
  counts_.replayed_answers += message->is_answered ? 1 : 0;
  message->original = packet.original;
  message->is_answered = true;
  answered_ = std::max(answered_, psn + 1);
  return check_msn(packet, message->end, expected_);
}

FlowObserver::Complaint FlowObserver::on_read_response_sent(const WireView& packet, std::uint64_t psn,
                                                            Message& message) {
  const std::uint64_t offset = (psn - message.first) * limits_.mtu_bytes;
  const bool is_last = psn + 1 == message.end;
  const std::uint64_t size = std::min<std::uint64_t>(message.length - offset, limits_.mtu_bytes);
  if (packet.payload.size() != size) {
    return fmt::format("{} bytes instead of {}", packet.payload.size(), size);
  }
  if (packet.is_last != is_last) return "LAST where it is not the last, or the other way round";
  if (!packet.is_first && psn != read_response_next_) {
    return "neither FIRST nor the one after the last response";
  }
  if (auto complaint = check_answered_before(message.first)) return complaint;
  read_response_next_ = psn + 1;
  answered_ = std::max(answered_, psn);
  message.is_answered = message.is_answered || is_last;
  return packet.has_aeth ? check_msn(packet, message.end, expected_) : std::nullopt;
}

FlowObserver::Complaint FlowObserver::on_nak_sent(const WireView& packet, std::uint64_t psn) {
  // A READ may be refused after it was answered in part.
  const Message* const refused = find(psn);
  const bool is_inside_read = refused != nullptr && refused->is_read() && !packet.is_sequence_nak();
  if (auto complaint = check_answered_before(is_inside_read ? refused->first : psn)) return complaint;
  if (psn > expected_) return "a NAK for a PSN that was not reached";
  if (auto complaint = check_msn(packet, psn, expected_)) return complaint;
  // Its memory is gone, but it was answered before: that is no refusal for good, for it may be a late
  // duplicate.
  if (is_inside_read && refused->is_answered && packet.syndrome == kRemoteAccessError) {
    ++counts_.repeated_reads_refused;
    return std::nullopt;
  }
  if (packet.is_sequence_nak()) {
    ++counts_.sequence_naks;
    if (selective_) return "a sequence NAK that does not say what is held";
    if (psn != expected_ && psn < std::max(least_expected_, answered_)) {
      return fmt::format("a sequence NAK that does not name the expected {:#x} (fact 22)", expected_ % kPsns);
    }
    expected_ = answered_ = psn;
    least_expected_ = kNone;
    if (nak_out_ == psn) return "a second sequence NAK for one gap (fact 22)";
    nak_out_ = psn;
    return std::nullopt;
  }
  // The packet was taken and refused, and so was everything after it.
  if (psn == expected_) return "refused a packet that it cannot have";
  expected_ = answered_ = psn;
  least_expected_ = kNone;
  if (selective_) selective_->responder.on_refused(psn);
  if (packet.is_rnr_nak()) {
    ++counts_.rnr_naks;
  } else {
    ++counts_.error_naks;
    has_refused_ = true;
  }
  return std::nullopt;
}

FlowObserver::Complaint FlowObserver::on_receive_completed(Time held_up_until) {
  if (receive_takers_.empty()) return "a receive completes, but no message for it was sent to the end";
  const ReceiveTaker taker = receive_takers_.front();
  receive_takers_.pop_front();
  if (answered_ >= taker.end || has_refused_) return std::nullopt;
  if (taker.taken < held_up_until) return std::nullopt;
  if (repeats_response_ || find_unanswered_before(taker.end) != nullptr) return std::nullopt;
  return fmt::format(
      "the receive of the message that ends with PSN {:#x} completes before its acknowledgement leaves",
      (taker.end - 1) % kPsns);
}

// Responses and acknowledgements leave in PSN order: what acknowledges a request says that READs and atomics
// before it have been answered.
FlowObserver::Complaint FlowObserver::check_answered_before(std::uint64_t psn) const {
  const Message* const message = find_unanswered_before(psn);
  if (message == nullptr) return std::nullopt;
  return fmt::format("passes the request of PSN {:#x}, which was not answered", message->first % kPsns);
}

const FlowObserver::Message* FlowObserver::find_unanswered_before(std::uint64_t psn) const {
  for (auto message = messages_.rbegin(); message != messages_.rend(); ++message) {
    if (message->end <= acknowledged_) break;
    if (message->wants_response() && !message->is_answered && message->first < psn) return &*message;
  }
  return nullptr;
}

FlowObserver::Complaint FlowObserver::check_msn(const WireView& packet, std::uint64_t from,
                                                std::uint64_t to) const {
  const std::uint64_t least = messages_before(from);
  const std::uint64_t most = messages_before(to);
  const std::uint64_t above = (packet.msn - least) % kPsns;
  if (above <= most - least) return std::nullopt;
  return fmt::format("MSN {} where {}..{} is right (fact 20)", packet.msn, least % kPsns, most % kPsns);
}

std::uint64_t FlowObserver::messages_before(std::uint64_t psn) const {
  const auto first_not =
      std::partition_point(messages_.begin(), messages_.end(), [psn](const Message& message) {
        return message.is_read() ? message.first < psn : message.is_complete && message.end <= psn;
      });
  return forgotten_messages_ + static_cast<std::uint64_t>(first_not - messages_.begin());
}

}  // namespace urnic::sim
