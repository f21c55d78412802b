// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/responder.h"

#include <algorithm>

#include "transport/rc/request_operation.h"
#include "transport/rc/timing.h"
#include "transport/request_counters.h"
#include "transport/scatter_gather.h"

namespace urnic::transport {

using wire::Operation;
using wire::Packet;
using ResponseKind = ResponderResources::ResponseKind;

namespace {

wire::Opcode response_opcode(const ResponderResources::Part& part) {
  if (part.is_first) {
    return part.is_last ? wire::Opcode::kRcReadResponseOnly : wire::Opcode::kRcReadResponseFirst;
  }
  return part.is_last ? wire::Opcode::kRcReadResponseLast : wire::Opcode::kRcReadResponseMiddle;
}

}  // namespace

void Responder::start() {
  expected_psn_ = config_.receive_psn;
  acknowledgeable_psn_ = config_.receive_psn - 1;
  msn_ = 0;
  msn_told_ = 0;
  message_ = {};
  has_receive_ = false;
  received_bytes_ = 0;
  receiver_ = deps_.receiver;
  resources_.start(config_.max_responder_resources, bytes(config_.path_mtu));
  ack_ = {};
  nak_.reset();
  withheld_.reset();
  repetition_.end();
  reorder_.reset();
  owes_selective_nak_ = false;
  has_failed_ = false;
}

void Responder::on_request(const Packet& packet, Time now) {
  if (has_failed_) return;
  const std::int32_t ahead = distance(expected_psn_, packet.bth.psn);
  if (ahead < 0) return on_duplicate(packet);
  if (ahead > 0) return on_gap(packet, now);
  const bool is_behind = owes_selective_nak_ || holds_packets();
  if (execute_next(packet, now) && is_behind) execute_held(now);
}

// Whether the packet with the expected PSN was executed.
bool Responder::execute_next(const Packet& packet, Time now) {
  const auto refused = [&](const Refusal& why) {
    refuse(why, packet, now);
    return false;
  };
  if (const auto nak = check_sequence(packet)) return refused(*nak);
  if (const auto nak = find_xrc_receiver(packet)) return refused(*nak);
  if (const auto nak = check(packet)) {
    count_received(packet, deps_.counters);
    return refused(*nak);
  }
  // A run that could not be executed at once may have taken it.
  if (needs_receive(packet) && !has_receive_ && !receiver_.queue->take(receive_)) {
    deps_.counters.add(Counter::kOutOfBuffer);
    nak_ = PendingNak{rnr_nak_syndrome(config_.min_rnr_timer), packet.bth.psn};
    repetition_.refuse(packet.bth.psn);
    return false;
  }
  has_receive_ = has_receive_ || needs_receive(packet);
  count_received(packet, deps_.counters);
  if (const auto nak = execute(packet)) return refused(*nak);
  on_executed(packet, packet.bth.psn, now);
  return true;
}

// A packet, or a run up to `last`.
void Responder::on_executed(const Packet& packet, Psn last, Time now) {
  repetition_.end();
  // An earlier RNR NAK or sequence NAK that did not leave yet has become wrong.
  nak_.reset();
  if (response_kind_of(packet.info->operation)) {
    // Its response acknowledges what came before.
    ack_.clear();
  } else {
    acknowledgeable_psn_ = last;
    if (packet.bth.ack_request) set_ack_pending(packet, now);
  }
}

// The packets that waited for the one that was just executed.
void Responder::execute_held(Time now) {
  while (const auto packet = reorder_->take(expected_psn_)) {
    if (!execute_next(*packet, now)) return;
  }
  // The peer is told at once how far it is: what it may send depends on that.
  owes_selective_nak_ = holds_packets();
  // The response of the last one would say the same.
  const bool is_answered = acknowledgeable_psn_ != expected_psn_ - 1;
  if (!owes_selective_nak_ && !is_answered) ack_.set();
}

// For a request that was executed and has no response of its own.
void Responder::set_ack_pending(const Packet& packet, Time now) {
  const bool completes_nothing = packet.info->operation == Operation::kWrite && !packet.info->has_immediate();
  if (!completes_nothing || !packet.info->ends_message()) return ack_.set();
  ack_.set_for_write(now, ack_patience(config_.ack_delay, config_.ack_timeout));
}

// What was executed already is not executed again: it is acknowledged, or answered once more (facts 25 to
// 27). Only a READ is repeated in earnest.
void Responder::on_duplicate(const Packet& packet) {
  deps_.events.on_loss();
  deps_.counters.add(Counter::kDuplicateRequest);
  const std::optional<ResponseKind> kind = response_kind_of(packet.info->operation);
  if (holds_packets()) {
    owes_selective_nak_ = true;
  } else if (!kind) {
    ack_.set();
  }
  if (!kind) return;
  if (*kind == ResponseKind::kReadData) {
    resources_.repeat(packet.bth.psn, packet.reth);
  } else {
    resources_.repeat_executed(packet.bth.psn, *kind);
  }
}

void Responder::on_gap(const Packet& packet, Time now) {
  deps_.events.on_loss();
  deps_.counters.add(Counter::kOutOfSequence);
  if (config_.recovery == Recovery::kSelectiveRepeat) {
    if (reorder_ == nullptr) reorder_ = std::make_unique<ReorderBuffer>(bytes(config_.path_mtu));
    reorder_->hold(packet, expected_psn_);
    owes_selective_nak_ = true;
    return;
  }
  if (!repetition_.is_news(packet.bth.psn, now)) return;
  nak_ = PendingNak{nak_syndrome(Nak::kPsnSequenceError), expected_psn_};
  repetition_.report();
}

void Responder::forget_receiver(const ReceiveQueue& queue) {
  if (receiver_.queue != &queue) return;
  receiver_ = {};
  has_receive_ = false;
}

std::optional<Refusal> Responder::execute(const Packet& packet) {
  switch (packet.info->operation) {
    case Operation::kReadRequest:
      return execute_read(packet);
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
    case Operation::kFlush:
    case Operation::kAtomicWrite:
      return execute_with_result(packet);
    case Operation::kSend:
      return end_part(packet, execute_send(packet));
    case Operation::kWrite:
      return end_part(packet, execute_write(packet));
    // The endpoint passes on requests only.
    case Operation::kNone:
    case Operation::kReadResponse:
    case Operation::kAcknowledge:
    case Operation::kAtomicAcknowledge:
    case Operation::kCongestionNotification:
    case Operation::kSelectiveNak:
      break;
  }
  return refusal::kBadSequence;
}

/// Its answer is sent piece by piece: see ResponderResources.
std::optional<Refusal> Responder::execute_read(const Packet& packet) {
  msn_ = (msn_ + 1) & Psn::kMask;
  resources_.add(expected_psn_, packet.reth, memory_user().pd, msn_);
  const std::uint32_t mtu = bytes(config_.path_mtu);
  expected_psn_ = expected_psn_ + std::max((packet.reth.length + mtu - 1) / mtu, 1u);
  return std::nullopt;
}

/// A packet of a SEND or WRITE was executed, or refused with `nak`.
std::optional<Refusal> Responder::end_part(const Packet& packet, const std::optional<Refusal>& nak) {
  if (nak) return nak;
  expected_psn_ = expected_psn_ + 1;
  if (packet.info->ends_message()) complete_message(packet);
  return std::nullopt;
}

std::optional<Refusal> Responder::execute_send(const Packet& packet) {
  if (packet.info->begins_message()) {
    message_ = {.operation = Operation::kSend};
    received_bytes_ = 0;
  }
  if (packet.payload.size() > receive_.length - received_bytes_) {
    if (config_.is_long_send_operational) {
      return fail_receive(CompletionStatus::kLocalQpOperationError, refusal::kReceiveOverrun, packet);
    }
    return fail_receive(CompletionStatus::kLocalLengthError, refusal::kReceiveTooSmall, packet);
  }
  if (scatter(deps_.dma, receiver_.pd, receive_.elements(), received_bytes_, packet.payload) !=
      DmaStatus::kOk) {
    if (deps_.observer != nullptr) {
      deps_.observer->on_local_fault({.elements = receive_.elements(), .pd = receiver_.pd, .is_write = true});
    }
    return fail_receive(CompletionStatus::kLocalProtectionError, refusal::kReceiveMemory, packet);
  }
  received_bytes_ += static_cast<std::uint32_t>(packet.payload.size());
  return has(packet.info->headers, wire::Headers::kIeth) ? invalidate(packet) : std::nullopt;
}

// The message has been received, but the key that its sender names cannot be taken back. The receive fails
// with the status that rdma_rxe gives it. The sender is sent neither NAK nor ACK (IBTA 9.9.6.3, class J, as
// cited by rdma-unit-test; rdma_rxe sends no NAK either): it repeats the SEND until its retries are used up.
std::optional<Refusal> Responder::invalidate(const Packet& packet) {
  const DmaStatus status = deps_.dma.invalidate(memory_user(), packet.invalidate_rkey);
  if (status == DmaStatus::kOk) return std::nullopt;
  return fail_receive(CompletionStatus::kRemoteInvalidRequest, refusal::cannot_invalidate(status), packet);
}

// Atomics, FLUSH and ATOMIC WRITE: executed once, however often the peer repeats the request (fact 27).
std::optional<Refusal> Responder::execute_with_result(const Packet& packet) {
  const wire::AtomicEth& atomic = packet.atomic;
  std::uint64_t original = 0;
  DmaStatus status = DmaStatus::kOk;
  switch (packet.info->operation) {
    case Operation::kCompareSwap:
      status = deps_.dma.compare_swap(memory_user(), atomic.rkey, atomic.address, atomic.compare,
                                      atomic.swap_or_add, original);
      break;
    case Operation::kFetchAdd:
      status = deps_.dma.fetch_add(memory_user(), atomic.rkey, atomic.address, atomic.swap_or_add, original);
      break;
    case Operation::kAtomicWrite:
      status = deps_.dma.write_remote_atomically(memory_user(), packet.reth.rkey, packet.reth.address,
                                                 packet.payload.first<kAtomicBytes>());
      break;
    default:
      status = deps_.dma.flush(memory_user(), packet.reth.rkey, packet.reth.address, packet.reth.length,
                               packet.feth.selectivity == 0 ? FlushScope::kRange : FlushScope::kRegion,
                               flush_access(packet.feth));
  }
  if (status != DmaStatus::kOk) return refusal::no_access(status);
  msn_ = (msn_ + 1) & Psn::kMask;
  resources_.add_executed(expected_psn_, *response_kind_of(packet.info->operation), original, msn_);
  expected_psn_ = expected_psn_ + 1;
  return std::nullopt;
}

std::optional<Refusal> Responder::execute_write(const Packet& packet) {
  if (packet.info->begins_message()) {
    message_ = {.operation = Operation::kWrite,
                .address = packet.reth.address,
                .rkey = packet.reth.rkey,
                .remaining = packet.reth.length};
    received_bytes_ = packet.reth.length;
  }
  if (!packet.payload.empty()) {
    const DmaStatus status =
        deps_.dma.write_remote(memory_user(), message_.rkey, message_.address, packet.payload);
    if (status != DmaStatus::kOk) return refusal::no_access(status);
  }
  message_.address += packet.payload.size();
  message_.remaining -= static_cast<std::uint32_t>(packet.payload.size());
  return std::nullopt;
}

void Responder::complete_message(const Packet& packet) {
  msn_ = (msn_ + 1) & Psn::kMask;
  const bool is_write = message_.operation == Operation::kWrite;
  message_ = {};
  if (!has_receive_) return;
  has_receive_ = false;
  deps_.counters.add(Counter::kReceivesCompleted);
  receiver_.completions->complete(
      {.wr_id = receive_.wr_id,
       .opcode = is_write ? CompletionOpcode::kReceiveRdmaWithImmediate : CompletionOpcode::kReceive,
       .has_immediate = packet.info->has_immediate(),
       .has_invalidate = has(packet.info->headers, wire::Headers::kIeth),
       .solicited = packet.bth.solicited,
       .byte_length = received_bytes_,
       .immediate = packet.immediate,
       .invalidated_rkey = packet.invalidate_rkey,
       .qp_number = config_.local_qp,
       .source_qp = config_.remote_qp,
       .origin = receiver_.srq});
}

void Responder::complete_receive(CompletionStatus status) {
  has_receive_ = false;
  deps_.counters.add(status == CompletionStatus::kWorkRequestFlushed ? Counter::kReceivesFlushed
                                                                     : Counter::kReceiveCompletionError);
  if (status == CompletionStatus::kLocalLengthError) deps_.counters.add(Counter::kReceiveLengthError);
  receiver_.completions->complete({.wr_id = receive_.wr_id,
                                   .status = status,
                                   .opcode = CompletionOpcode::kReceive,
                                   .solicited = true,
                                   .qp_number = config_.local_qp,
                                   .source_qp = config_.remote_qp,
                                   .origin = receiver_.srq});
}

// The receive fails, and the peer is told why.
Refusal Responder::fail_receive(CompletionStatus status, const Refusal& why, const Packet& packet) {
  observe(why, packet);
  complete_receive(status);
  return why;
}

void Responder::observe(const Refusal& why, const Packet& packet) const {
  if (deps_.observer == nullptr) return;
  deps_.observer->on_refused(describe(why, packet,
                                      {.rkey = message_.rkey,
                                       .address = message_.address,
                                       .room = receive_.length,
                                       .received_bytes = received_bytes_}));
}

// A WRITE with immediate that may not write fails the receive that it would have completed (libibverbs:
// IBV_WC_LOC_ACCESS_ERR; rdma_rxe consumes the receive with IBV_WC_REM_ACCESS_ERR). Without a receive the
// requester alone is told.
void Responder::refuse(const Refusal& why, const Packet& packet, Time now) {
  observe(why, packet);
  const bool is_of_memory = why.reason == RefusalReason::kMemory;
  const bool is_of_receive = is_of_memory && packet.info->has_immediate();
  if (is_of_memory && deps_.withdrawn_keys != nullptr) {
    const Time until = silent_until(why.memory, describe(why, packet, {.rkey = message_.rkey}).rkey);
    if (until > now) return withhold({why, packet.bth.psn, is_of_receive, until});
  }
  refuse(why, packet.bth.psn, is_of_receive);
}

/// Until when nothing is said about a request for `rkey` that fails with `status`.
Time Responder::silent_until(DmaStatus status, Rkey rkey) const {
  const bool can_be_withdrawn = deps_.withdrawn_keys != nullptr && status == DmaStatus::kInvalidKey;
  return can_be_withdrawn ? deps_.withdrawn_keys->silent_until(rkey) : Time::min();
}

// What was executed before is acknowledged still.
void Responder::withhold(const Withheld& refusal) {
  has_failed_ = true;
  owes_selective_nak_ = false;
  nak_.reset();
  withheld_ = refusal;
}

void Responder::end_silence() {
  const Withheld refusal = *withheld_;
  withheld_.reset();
  refuse(refusal.why, refusal.psn, refusal.is_of_receive);
}

// A refusal is the last thing this responder says. Responses to READs before it still go out first.
void Responder::refuse(const Refusal& why, Psn psn, bool is_of_receive) {
  // The queue of an XRC target may have been destroyed during a silence.
  const bool can_take = receiver_.queue != nullptr;
  if (is_of_receive && (has_receive_ || (can_take && receiver_.queue->take(receive_)))) {
    complete_receive(CompletionStatus::kLocalAccessError);
  }
  deps_.counters.add(counter_for(why.nak));
  if (const auto event = event_for(why.reason)) deps_.events.on_qp_event(config_.local_qp, *event);
  has_failed_ = true;
  owes_selective_nak_ = false;
  if (why.is_silent) {
    // What was executed before is acknowledged still.
    nak_.reset();
    return ack_.flush_delayed_ack();
  }
  nak_ = PendingNak{nak_syndrome(why.nak), psn};
  ack_.clear();
}

void Responder::flush() {
  resources_.drop_pending();
  ack_.clear();
  nak_.reset();
  withheld_.reset();
  owes_selective_nak_ = false;
  message_ = {};
  if (has_receive_) complete_receive(CompletionStatus::kWorkRequestFlushed);
  if (receiver_.is_shared || receiver_.queue == nullptr) return;
  while (receiver_.queue->take(receive_)) complete_receive(CompletionStatus::kWorkRequestFlushed);
}

WrittenPacket Responder::poll_transmit(std::span<std::byte> out, std::uint32_t most, Time now) {
  while (resources_.has_pending()) {
    const ResponderResources::Part part = resources_.next(std::max(most, 1u));
    const bool is_data = part.kind == ResponseKind::kReadData;
    if (is_data && pacer_.is_active() && pacer_.holds(now)) return emit_acknowledge_before(part, out);
    if (const WrittenPacket packet = emit_response(part, out, now); packet.size > 0) return packet;
  }
  if (nak_) {
    const PendingNak nak = *nak_;
    nak_.reset();
    // It acknowledges everything before its PSN.
    ack_.clear();
    if (kind_of(nak.syndrome) == SyndromeKind::kRnrNak) {
      deps_.counters.add(Counter::kRnrNakSent);
      repetition_.expect_after(now + rnr_timer(value_of(nak.syndrome)));
    }
    return emit_acknowledge(nak.syndrome, nak.psn, out);
  }
  if (owes_selective_nak_) {
    ack_.clear();
    return emit_selective_nak(out);
  }
  if (ack_.is_due(now)) {
    ack_.clear();
    return emit_acknowledge(kAckSyndrome, acknowledgeable_psn_, out);
  }
  return {};
}

WrittenPacket Responder::emit_response(const ResponderResources::Part& part, std::span<std::byte> out,
                                       Time now) {
  if (part.kind != ResponseKind::kAtomicAck) return emit_read_response(part, out, now);
  resources_.advance(1);
  const Packet packet{.bth = {.opcode = with_service(wire::Opcode::kRcAtomicAcknowledge, config_.service),
                              .destination_qp = config_.remote_qp,
                              .psn = part.psn},
                      .aeth = {.syndrome = kAckSyndrome, .msn = msn_for(part)},
                      .atomic_original = part.original};
  return {.size = wire::emit_headers(packet, out)};
}

// Memory is read now, for a repeated READ again (fact 26). If it cannot be read any more, a NAK takes the
// place of the response. A NAK to a repeat (rdma_rxe sends one, too) tells a requester that still waits for
// the answer at once what is wrong. A requester that has the answer, because the network doubled its request,
// takes no notice, and the connection goes on: its program may have said that it is done, so that ours
// deregistered the region.
WrittenPacket Responder::emit_read_response(const ResponderResources::Part& part, std::span<std::byte> out,
                                            Time now) {
  const wire::Opcode opcode = with_service(response_opcode(part), config_.service);
  const std::size_t header_size = wire::header_bytes(opcode);
  wire::TailCrc tail;
  const DmaStatus status =
      part.size == 0
          ? DmaStatus::kOk
          : deps_.dma.read_remote({.pd = part.pd, .qp = config_.local_qp}, part.rkey, part.address,
                                  out.subspan(header_size, part.size), part.packets == 1 ? &tail : nullptr);
  // All before the first packet that cannot be read leaves.
  if (status != DmaStatus::kOk && part.packets > 1) return emit_read_response(resources_.next(1), out, now);
  if (status != DmaStatus::kOk) {
    if (part.is_repeat) {
      resources_.drop_current();
      if (silent_until(status, part.rkey) > now) return {};
      deps_.counters.add(Counter::kRequestAccessError);
      return emit_acknowledge(nak_syndrome(Nak::kRemoteAccessError), part.psn, out);
    }
    const Packet asked_for{.bth = {.opcode = wire::Opcode::kRcReadRequest, .psn = part.psn},
                           .info = &wire::info(wire::Opcode::kRcReadRequest),
                           .reth = {.address = part.address, .rkey = part.rkey, .length = part.size}};
    resources_.drop_pending();
    refuse(refusal::no_access(status), asked_for, now);
    return {};
  }
  resources_.advance(part.packets);
  const std::uint8_t padding = wire::pad_bytes(part.size);
  wire::write_padding(out.subspan(header_size + part.size, padding), tail);
  const Packet packet{
      .bth = {.opcode = opcode, .pad_count = padding, .destination_qp = config_.remote_qp, .psn = part.psn},
      .aeth = {.syndrome = kAckSyndrome, .msn = msn_for(part)}};
  const std::uint32_t size = wire::emit_headers(packet, out) + part.size + padding;
  if (part.kind == ResponseKind::kReadData && pacer_.is_active()) [[unlikely]] {
    pacer_.on_sent({.psn = part.psn, .bytes = size}, now);
  }
  return {.size = size, .packets = part.packets, .tail = tail};
}

// A response that is sent again carries today's MSN (as rdma_rxe does it: capture vs_loss_both, frames 51 and
// 68): what the peer was told is never taken back.
std::uint32_t Responder::msn_for(const ResponderResources::Part& part) {
  if (distance(Psn(msn_told_), Psn(part.msn)) > 0) msn_told_ = part.msn;
  return msn_told_;
}

// All that was executed is answered by now. A NAK acknowledges what came before its PSN.
WrittenPacket Responder::emit_acknowledge(std::uint8_t syndrome, Psn psn, std::span<std::byte> out) {
  msn_told_ = msn_;
  const Packet packet{.bth = {.opcode = with_service(wire::Opcode::kRcAcknowledge, config_.service),
                              .destination_qp = config_.remote_qp,
                              .psn = psn},
                      .aeth = {.syndrome = syndrome, .msn = msn_}};
  return {.size = wire::emit_headers(packet, out)};
}

// A response that may not leave yet would say that the messages before its request were executed. The peer
// need not wait for that.
WrittenPacket Responder::emit_acknowledge_before(const ResponderResources::Part& part,
                                                 std::span<std::byte> out) {
  const std::uint32_t msn_before = (part.msn - 1) & Psn::kMask;
  if (distance(Psn(msn_told_), Psn(msn_before)) <= 0) return {};
  msn_told_ = msn_before;
  const Packet packet{.bth = {.opcode = with_service(wire::Opcode::kRcAcknowledge, config_.service),
                              .destination_qp = config_.remote_qp,
                              .psn = part.psn - 1},
                      .aeth = {.syndrome = kAckSyndrome, .msn = msn_before}};
  return {.size = wire::emit_headers(packet, out)};
}

// It acknowledges everything before the expected PSN, and says which later packets came.
WrittenPacket Responder::emit_selective_nak(std::span<std::byte> out) {
  owes_selective_nak_ = false;
  msn_told_ = msn_;
  const Packet packet{.bth = {.opcode = wire::Opcode::kSelectiveNak,
                              .destination_qp = config_.remote_qp,
                              .psn = expected_psn_},
                      .aeth = {.syndrome = nak_syndrome(Nak::kPsnSequenceError), .msn = msn_}};
  const std::uint32_t header_size = wire::emit_headers(packet, out);
  reorder_->held().write(out.subspan(header_size).first<HeldPsns::kBitmapBytes>());
  return {.size = header_size + HeldPsns::kBitmapBytes};
}

}  // namespace urnic::transport
