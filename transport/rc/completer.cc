// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/completer.h"

#include <algorithm>

#include "transport/rc/nak_status.h"
#include "transport/rc/syndrome.h"
#include "transport/scatter_gather.h"
#include "transport/send_completion.h"

namespace urnic::transport {

void Completer::on_packet(const wire::Packet& packet, Time now) {
  if (!window_.is_outstanding(packet.bth.psn)) {
    // Old ones are answers to what was sent twice, and normal (fact 25).
    if (window_.is_beyond_sent(packet.bth.psn)) deps_.counters.add(Counter::kUnexpectedAcknowledge);
    return;
  }
  retry_.end_probe();
  switch (packet.info->operation) {
    case wire::Operation::kAcknowledge:
      return on_acknowledge(packet, now);
    case wire::Operation::kSelectiveNak:
      return on_selective_nak(packet, now);
    case wire::Operation::kReadResponse:
    case wire::Operation::kAtomicAcknowledge:
      return on_response(packet, now);
    default:
      deps_.counters.add(Counter::kUnexpectedResponse);
  }
}

void Completer::on_acknowledge(const wire::Packet& packet, Time now) {
  const std::uint8_t syndrome = packet.aeth.syndrome;
  // A NAK acknowledges all before its own PSN, an ACK that one too.
  const bool is_ack = kind_of(syndrome) == SyndromeKind::kAcknowledge;
  window_.recovery().on_executed(packet.bth.psn + (is_ack ? 1 : 0), !is_ack);
  if (!acknowledge_before(packet.bth.psn, now)) {
    if (kind_of(syndrome) == SyndromeKind::kRnrNak) return on_rnr_nak(value_of(syndrome), now, true);
    return recover(Loss::kAnswer, Counter::kImpliedNakSequenceError);
  }
  switch (kind_of(syndrome)) {
    case SyndromeKind::kAcknowledge:
      credits_.on_acknowledge(value_of(syndrome), packet.aeth.msn);
      if (acknowledge_whole_or_part(packet.bth.psn)) return made_progress(now);
      return recover(Loss::kAnswer, Counter::kImpliedNakSequenceError);
    case SyndromeKind::kRnrNak:
      return on_rnr_nak(value_of(syndrome), now, false);
    case SyndromeKind::kNak:
      return on_nak(syndrome, now);
    case SyndromeKind::kReserved:
      deps_.counters.add(Counter::kUnexpectedAcknowledge);
  }
}

// One that passes an unanswered READ says two things: the answer was lost (fact 21), and nothing from the
// refused packet on may be sent before the timer has run out (fact 34). The READ is asked again with the
// rest, so that the timer holds.
void Completer::on_rnr_nak(std::uint8_t timer_code, Time now, bool passes_read) {
  // What was sent twice is refused twice, and the network may double a refusal: another one counts only after
  // something was sent again (fact 34).
  if (retry_.is_waiting_for_receiver() || retry_.is_refused()) {
    return retry_.on_refused_again(timer_code, now);
  }
  // The peer may refuse a request without end; the other counter is for answers that never come.
  if (passes_read && window_.recovery().on_loss(Loss::kAnswer, in_flight()) &&
      !use_retry(Counter::kImpliedNakSequenceError)) {
    return;
  }
  deps_.counters.add(Counter::kRnrNakReceived);
  if (!retry_.try_again_after_rnr(timer_code, now)) {
    deps_.counters.add(Counter::kRnrNakRetryExceeded);
    head_error_ = {.status = CompletionStatus::kRnrRetryExceeded};
    return;
  }
  // After the wait the peer may report a new gap in what is sent then.
  window_.recovery().on_loss(Loss::kRefused, in_flight());
  go_back();
}

void Completer::on_nak(std::uint8_t syndrome, Time now) {
  const std::optional<Nak> reason = nak_of(syndrome);
  if (!reason) return deps_.counters.add(Counter::kUnexpectedAcknowledge);
  if (*reason == Nak::kPsnSequenceError) {
    deps_.events.on_loss();
    pacer_.on_nak(now);
    return recover(Loss::kRequest, Counter::kPacketSequenceError);
  }
  deps_.counters.add(Counter::kReceivedErrorNak);
  head_error_ = {.status = status_of(*reason)};
}

// A NAK that also says which packets the peer holds. The peer sends one for each packet that comes after the
// missing one. All that these NAKs make us send again was lost at one time, and counts once.
void Completer::on_selective_nak(const wire::Packet& packet, Time now) {
  const bool is_understood = config_.recovery == Recovery::kSelectiveRepeat &&
                             packet.payload.size() == HeldPsns::kBitmapBytes &&
                             packet.aeth.syndrome == nak_syndrome(Nak::kPsnSequenceError);
  if (!is_understood) return deps_.counters.add(Counter::kUnexpectedAcknowledge);
  const bool passes_read = !acknowledge_before(packet.bth.psn, now);
  const Report report =
      window_.recovery().on_held(packet.bth.psn, packet.payload.first<HeldPsns::kBitmapBytes>());
  if (report == Report::kFurther) retry_.on_sign_of_life(now);
  if (passes_read) recover(Loss::kAnswer, Counter::kImpliedNakSequenceError);
  // The peer is alive: that takes no retry, and the ACK timer goes on.
  if (report == Report::kOld || retry_.is_waiting_for_receiver()) return;
  if (!window_.recovery().on_loss(Loss::kRequest, in_flight()) || !go_back()) return;
  deps_.counters.add(Counter::kPacketSequenceError);
  deps_.events.on_loss();
  pacer_.on_nak(now);
}

// Responses come in PSN order; the next one wanted is always the oldest outstanding PSN.
void Completer::on_response(const wire::Packet& packet, Time now) {
  const Psn psn = packet.bth.psn;
  const bool is_next = acknowledge_before(psn, now);
  if (is_next && !has_response(window_.head().request.operation)) {
    return deps_.counters.add(Counter::kUnexpectedResponse);
  }
  window_.recovery().on_executed(psn + 1, false);
  if (!is_next) {
    on_later_response(psn, now);
    return recover(Loss::kAnswer, Counter::kImpliedNakSequenceError);
  }
  const SendWqe& wqe = window_.head();
  const std::uint32_t index = (psn.value() - wqe.first_psn.value()) & Psn::kMask;
  const std::uint32_t offset = index * bytes(config_.path_mtu);
  if (!is_expected_response(packet, index, offset)) {
    deps_.counters.add(Counter::kBadResponse);
    head_error_ = {.status = CompletionStatus::kBadResponse};
    return;
  }
  if (const DmaStatus status = take_response(packet, offset); status != DmaStatus::kOk) {
    if (deps_.observer != nullptr) {
      const auto elements = deps_.send_queue.sges(deps_.send_queue.head());
      deps_.observer->on_local_fault({.elements = elements, .pd = config_.pd, .is_write = true});
    }
    head_error_ = local_protection_error(status);
    return;
  }
  on_response_taken(psn, now);
}

// All responses to the oldest request, up to this one, are where they belong.
void Completer::on_response_taken(Psn last, Time now) {
  if (last == window_.head_last_psn()) {
    complete_head({.status = CompletionStatus::kSuccess});
  } else {
    window_.acknowledge_part(last + 1);
  }
  acknowledge_executed();
  made_progress(now);
}

bool Completer::on_run(const wire::Run& run, Time now) {
  const wire::Packet& whole = run.whole();
  const bool is_next = window_.has_outstanding() && whole.bth.psn == window_.oldest() &&
                       !pacer_.is_active() && window_.is_outstanding(run.last_psn());
  if (!is_next || window_.head().request.operation != SendOperation::kRead) return false;
  const std::uint32_t index = (whole.bth.psn.value() - window_.head().first_psn.value()) & Psn::kMask;
  if (!is_expected_run(run, index)) return false;
  if (take_response(whole, index * bytes(config_.path_mtu)) != DmaStatus::kOk) return false;
  retry_.end_probe();
  window_.recovery().on_executed(run.last_psn() + 1, false);
  on_response_taken(run.last_psn(), now);
  return true;
}

// The missing answer has come: what the peer acknowledged after it is done as well.
void Completer::acknowledge_executed() {
  while (window_.has_outstanding() && window_.recovery().has_executed(window_.oldest()) &&
         acknowledge_whole_or_part(window_.oldest())) {
  }
}

// With many READs outstanding the peer first sends the answers of the READs after the lost one. That may take
// it longer than all our retries, and only then does it answer the READ that we asked again (rdma_rxe with
// 100 READs of 36 KB, seen live). While its answers advance, the peer is alive. Each PSN counts once, so no
// peer holds us forever.
void Completer::on_later_response(Psn psn, Time now) {
  const std::uint32_t ahead = (psn.value() - window_.oldest().value()) & Psn::kMask;
  if (ahead <= furthest_response_) return;
  furthest_response_ = ahead;
  retry_.on_sign_of_life(now);
}

// The packets of a READ that was sent again begin with FIRST or ONLY wherever it resumed, or go on with
// MIDDLE or LAST as rdma_rxe's do (capture vs_loss_both); only the first packet of a piece is FIRST or ONLY
// for certain.
bool Completer::is_expected_response(const wire::Packet& packet, std::uint32_t index,
                                     std::uint32_t offset) const {
  const SendWqe& wqe = window_.head();
  const bool is_atomic_answer = packet.info->operation == wire::Operation::kAtomicAcknowledge;
  if (is_atomic_answer != is_atomic(wqe.request.operation)) return false;
  const bool is_last = index + 1 == wqe.packet_count;
  const bool has_data = wqe.request.operation == SendOperation::kRead;
  const std::uint32_t rest = has_data ? wqe.length - offset : 0;
  const std::uint32_t expected_bytes = is_last ? rest : bytes(config_.path_mtu);
  const bool is_refusal = has(packet.info->headers, wire::Headers::kAeth) &&
                          kind_of(packet.aeth.syndrome) != SyndromeKind::kAcknowledge;
  return !is_refusal && packet.info->ends_message() == window_.ends_piece(wqe, index) &&
         (!window_.begins_piece(index) || packet.info->begins_message()) &&
         packet.payload.size() == expected_bytes;
}

// The same of all packets of a run: each piece of the READ has an end that the peer must mark.
bool Completer::is_expected_run(const wire::Run& run, std::uint32_t index) const {
  const wire::Packet& whole = run.whole();
  const SendWqe& wqe = window_.head();
  const std::uint32_t last = index + run.packets() - 1;
  if (run.mtu() != config_.path_mtu || last >= wqe.packet_count || !window_.are_in_one_piece(index, last)) {
    return false;
  }
  const std::uint32_t mtu = bytes(config_.path_mtu);
  const std::uint32_t rest = wqe.length - index * mtu;
  const bool is_refusal = has(whole.info->headers, wire::Headers::kAeth) &&
                          kind_of(whole.aeth.syndrome) != SyndromeKind::kAcknowledge;
  return !is_refusal && whole.info->ends_message() == window_.ends_piece(wqe, last) &&
         (!window_.begins_piece(index) || whole.info->begins_message()) &&
         whole.payload.size() == std::min(rest, run.packets() * mtu);
}

// Completes what is covered by an acknowledgement of everything before `psn`. False when that passes a READ
// which was not answered: the answer was lost (fact 21), and the READ has to be asked again.
bool Completer::acknowledge_before(Psn psn, Time now) {
  if (psn == window_.oldest()) return true;
  const Psn before = window_.oldest();
  const bool all = acknowledge_whole_or_part(psn - 1);
  if (window_.oldest() != before) made_progress(now);
  return all;
}

// Acknowledges up to and including `psn`, which is outstanding; stops, and returns false, at what needs a
// response.
bool Completer::acknowledge_whole_or_part(Psn psn) {
  while (window_.is_outstanding(psn)) {
    if (has_response(window_.head().request.operation)) return false;
    if (distance(window_.head_last_psn(), psn) < 0) {
      window_.acknowledge_part(psn + 1);
    } else {
      complete_head({.status = CompletionStatus::kSuccess});
    }
  }
  return true;
}

// Sends again what was lost, if that is not on its way again already.
void Completer::recover(Loss loss, Counter reason) {
  if (retry_.is_waiting_for_receiver()) return;
  window_.skip_unwanted();
  // The requester has gone back already: this tells of what was lost before that.
  if (!window_.has_in_flight()) return retry_.wait_from_next_sent();
  if (window_.recovery().on_loss(loss, in_flight()) && go_back()) use_retry(reason);
}

// Counts the reason and a retry; false, with the oldest work request failed, when there is none left.
bool Completer::use_retry(Counter reason) {
  deps_.counters.add(reason);
  return has_another_try(retry_.try_again());
}

bool Completer::has_another_try(bool has_one) {
  if (has_one) return true;
  deps_.counters.add(Counter::kRetryExceeded);
  head_error_ = {.status = CompletionStatus::kRetryExceeded};
  return false;
}

bool Completer::on_timeout(Time now) {
  if (retry_.is_waiting_for_receiver()) {
    retry_.end_receiver_wait(now);
    return false;
  }
  if (!retry_.is_overdue(now) || retry_.wait_on(now)) return false;
  deps_.events.on_loss();
  pacer_.on_timeout(now);
  if (deps_.observer != nullptr) deps_.observer->on_ack_timeout(retry_.retries_used(), now);
  deps_.counters.add(retry_.is_early() ? Counter::kEarlyRepetition : Counter::kLocalAckTimeout);
  if (!has_another_try(retry_.try_again_after_timeout())) return true;
  window_.recovery().on_loss(Loss::kUnknown, in_flight());
  if (go_back()) deps_.counters.add(Counter::kTimeoutRepetition);
  retry_.begin_probe();
  return true;
}

// Moves to the first packet that is to be sent again. False when none is.
bool Completer::go_back() {
  const bool is_inside_message = window_.rewind();
  window_.skip_unwanted();
  if (!window_.is_repeating()) return false;
  if (is_inside_message) deps_.counters.add(Counter::kResumedInsideMessage);
  return true;
}

void Completer::made_progress(Time now) {
  window_.recovery().on_progress(window_.oldest());
  furthest_response_ = 0;
  retry_.on_progress(now, window_.has_in_flight());
  pacer_.on_acknowledged(window_.oldest(), now);
}

// Data of a READ, or what an atomic found: a number in host order (fact 55).
DmaStatus Completer::take_response(const wire::Packet& packet, std::uint32_t offset) {
  const auto elements = deps_.send_queue.sges(deps_.send_queue.head());
  const bool is_number = is_atomic(window_.head().request.operation);
  const auto number = std::as_bytes(std::span(&packet.atomic_original, 1));
  return scatter(deps_.dma, config_.pd, elements, offset, is_number ? number : packet.payload);
}

void Completer::complete_head(const SendOutcome& outcome) {
  if (config_.names_oldest_failure) [[unlikely]] {
    complete_unheard(outcome);
  } else {
    complete_send(deps_.send_queue.head(), outcome, config_, deps_);
  }
  window_.retire_head();
}

// Requests without a completion of their own may have succeeded before the one that fails now.
void Completer::complete_unheard(SendOutcome outcome) {
  const SendQueue& queue = deps_.send_queue;
  const std::uint32_t end = queue.head() + 1;
  if (outcome.status == CompletionStatus::kSuccess) {
    complete_send(queue.head(), outcome, config_, deps_);
    if (queue.at(queue.head()).request.signaled) heard_end_ = end;
    return;
  }
  for (; heard_end_ != end; ++heard_end_) {
    complete_send(heard_end_, outcome, config_, deps_);
    outcome = {.status = CompletionStatus::kWorkRequestFlushed};
  }
}

void Completer::flush(bool has_failed) {
  SendQueue& queue = deps_.send_queue;
  SendOutcome outcome{.status = CompletionStatus::kWorkRequestFlushed};
  if (!has_failed) outcome.detail = FailureDetail::kFirstFlushed;
  for (; !queue.is_empty(); queue.pop()) {
    if (config_.names_oldest_failure) {
      complete_unheard(outcome);
    } else {
      complete_send(queue.head(), outcome, config_, deps_);
    }
    outcome.detail = FailureDetail::kNone;
  }
}

}  // namespace urnic::transport
