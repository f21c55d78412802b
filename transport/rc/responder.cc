#include "transport/rc/responder.h"

#include <algorithm>
#include <cstring>

namespace urnic::transport {

using wire::Operation;
using wire::Packet;
using wire::Position;

void Responder::start() {
  expected_psn_ = config_.receive_psn;
  msn_ = 0;
  message_ = {};
  has_receive_ = false;
  received_bytes_ = 0;
  reads_.start(config_.max_responder_resources, bytes(config_.path_mtu));
  acknowledge_ = false;
  nak_.reset();
  is_waiting_for_repeat_ = false;
  has_failed_ = false;
}

void Responder::on_request(const Packet& packet) {
  if (has_failed_) return;
  const std::int32_t ahead = distance(expected_psn_, packet.bth.psn);
  if (ahead < 0) return on_duplicate(packet);
  if (ahead > 0) return on_gap();

  if (const auto nak = check(packet)) return refuse(*nak, packet.bth.psn);
  if (needs_receive(packet) && !around_.receive_queue.take(receive_)) {
    around_.counters.add(Counter::kOutOfBuffer);
    nak_ = OwedNak{rnr_nak_syndrome(config_.min_rnr_timer), packet.bth.psn};
    is_waiting_for_repeat_ = true;
    return;
  }
  has_receive_ = has_receive_ || needs_receive(packet);
  if (const auto nak = execute(packet)) return refuse(*nak, packet.bth.psn);

  is_waiting_for_repeat_ = false;
  // An earlier RNR NAK or sequence NAK that did not leave yet has become wrong.
  nak_.reset();
  acknowledge_ =
      acknowledge_ || (packet.bth.ack_request && packet.info->operation != Operation::kReadRequest);
}

// What was executed already is not executed again: it is acknowledged, and a READ is answered once more
// (facts 25, 26).
void Responder::on_duplicate(const Packet& packet) {
  around_.counters.add(Counter::kDuplicateRequest);
  if (packet.info->operation != Operation::kReadRequest) {
    acknowledge_ = true;
    return;
  }
  // The MSN is today's (as rdma_rxe does it: capture vs_loss_both).
  reads_.repeat(packet.bth.psn, packet.reth, msn_);
}

void Responder::on_gap() {
  around_.counters.add(Counter::kOutOfSequence);
  if (is_waiting_for_repeat_) return;
  nak_ = OwedNak{nak_syndrome(Nak::kPsnSequenceError), expected_psn_};
  is_waiting_for_repeat_ = true;
}

std::optional<Nak> Responder::check(const Packet& packet) const {
  if (const auto nak = check_sequence(packet)) return nak;
  if (const auto nak = check_length(packet)) return nak;
  return check_access(packet);
}

std::optional<Nak> Responder::check_sequence(const Packet& packet) const {
  const Operation operation = packet.info->operation;
  const bool is_known =
      operation == Operation::kSend || operation == Operation::kWrite || operation == Operation::kReadRequest;
  if (!is_known || has(packet.info->headers, wire::Headers::kIeth)) return Nak::kInvalidRequest;
  if (packet.info->begins_message()) {
    return is_message_open() ? std::optional(Nak::kInvalidRequest) : std::nullopt;
  }
  return message_.operation == operation ? std::nullopt : std::optional(Nak::kInvalidRequest);
}

// First and middle packets fill the path MTU, a last packet is not empty, none exceeds it, and a WRITE brings
// exactly what its RETH announced (fact 29).
std::optional<Nak> Responder::check_length(const Packet& packet) const {
  const std::size_t size = packet.payload.size();
  const std::size_t mtu = bytes(config_.path_mtu);
  const Position position = packet.info->position;
  const bool more_follow = position == Position::kFirst || position == Position::kMiddle;

  if (size > mtu) return Nak::kInvalidRequest;
  if (more_follow && size < mtu) return Nak::kInvalidRequest;
  if (position == Position::kLast && size == 0) return Nak::kInvalidRequest;

  const bool has_reth = has(packet.info->headers, wire::Headers::kReth);
  if (has_reth && packet.reth.length > kMaxMessageBytes) return Nak::kInvalidRequest;
  if (packet.info->operation != Operation::kWrite) return std::nullopt;
  const std::uint32_t announced = has_reth ? packet.reth.length : message_.remaining;
  const bool fits = more_follow ? size < announced : size == announced;
  return fits ? std::nullopt : std::optional(Nak::kInvalidRequest);
}

// The queue pair's own rights first, then key, bounds and rights of the region (facts 30, 31). Later packets
// of a WRITE are checked as they are written.
std::optional<Nak> Responder::check_access(const Packet& packet) const {
  if (!has(packet.info->headers, wire::Headers::kReth)) return std::nullopt;
  const bool is_read_request = packet.info->operation == Operation::kReadRequest;
  const Access wanted = is_read_request ? Access::kRemoteRead : Access::kRemoteWrite;

  if (!allows(config_.access, wanted)) return Nak::kInvalidRequest;
  if (is_read_request && reads_.is_full()) return Nak::kInvalidRequest;
  if (packet.reth.length == 0) return std::nullopt;
  const DmaStatus status =
      around_.dma.check_remote(config_.pd, packet.reth.rkey, packet.reth.address, packet.reth.length, wanted);
  return status == DmaStatus::kOk ? std::nullopt : std::optional(Nak::kRemoteAccessError);
}

// A SEND takes its receive with the first packet, a WRITE with immediate with the last one.
bool Responder::needs_receive(const Packet& packet) const {
  if (packet.info->operation == Operation::kSend) return packet.info->begins_message();
  return packet.info->has_immediate();
}

std::optional<Nak> Responder::execute(const Packet& packet) {
  if (packet.info->operation == Operation::kReadRequest) {
    msn_ = (msn_ + 1) & Psn::kMask;
    reads_.add(expected_psn_, packet.reth, msn_);
    const std::uint32_t mtu = bytes(config_.path_mtu);
    expected_psn_ = expected_psn_ + std::max((packet.reth.length + mtu - 1) / mtu, 1u);
    return std::nullopt;
  }
  const auto nak = packet.info->operation == Operation::kSend ? execute_send(packet) : execute_write(packet);
  if (nak) return nak;
  expected_psn_ = expected_psn_ + 1;
  if (packet.info->ends_message()) complete_message(packet);
  return std::nullopt;
}

std::optional<Nak> Responder::execute_send(const Packet& packet) {
  if (packet.info->begins_message()) {
    message_ = {.operation = Operation::kSend};
    received_bytes_ = 0;
  }
  if (packet.payload.size() > receive_.length - received_bytes_) {
    complete_receive(CompletionStatus::kLocalLengthError);
    return Nak::kInvalidRequest;
  }
  if (scatter(packet.payload) != DmaStatus::kOk) {
    complete_receive(CompletionStatus::kLocalProtectionError);
    return Nak::kRemoteOperationalError;
  }
  received_bytes_ += static_cast<std::uint32_t>(packet.payload.size());
  return std::nullopt;
}

std::optional<Nak> Responder::execute_write(const Packet& packet) {
  if (packet.info->begins_message()) {
    message_ = {.operation = Operation::kWrite,
                .address = packet.reth.address,
                .rkey = packet.reth.rkey,
                .remaining = packet.reth.length};
    received_bytes_ = packet.reth.length;
  }
  if (!packet.payload.empty() && around_.dma.write_remote(config_.pd, message_.rkey, message_.address,
                                                          packet.payload) != DmaStatus::kOk) {
    return Nak::kRemoteAccessError;
  }
  message_.address += packet.payload.size();
  message_.remaining -= static_cast<std::uint32_t>(packet.payload.size());
  return std::nullopt;
}

// Writes the next bytes of a SEND into its receive, at received_bytes_.
DmaStatus Responder::scatter(std::span<const std::byte> from) {
  std::uint32_t offset = received_bytes_;
  for (const Sge& sge : receive_.elements()) {
    if (from.empty()) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::size_t size = std::min<std::size_t>(sge.length - offset, from.size());
    const DmaStatus status =
        around_.dma.write_local(config_.pd, sge.lkey, sge.address + offset, from.first(size));
    if (status != DmaStatus::kOk) return status;
    from = from.subspan(size);
    offset = 0;
  }
  return DmaStatus::kOk;
}

void Responder::complete_message(const Packet& packet) {
  msn_ = (msn_ + 1) & Psn::kMask;
  const bool is_write = message_.operation == Operation::kWrite;
  message_ = {};
  if (!has_receive_) return;
  has_receive_ = false;
  around_.receive_completions.complete(
      {.wr_id = receive_.wr_id,
       .opcode = is_write ? CompletionOpcode::kReceiveRdmaWithImmediate : CompletionOpcode::kReceive,
       .has_immediate = packet.info->has_immediate(),
       .solicited = packet.bth.solicited,
       .byte_length = received_bytes_,
       .immediate = packet.immediate,
       .qp_number = config_.local_qp,
       .source_qp = config_.remote_qp});
}

void Responder::complete_receive(CompletionStatus status) {
  has_receive_ = false;
  if (status != CompletionStatus::kWorkRequestFlushed) around_.counters.add(Counter::kReceiveCompletionError);
  around_.receive_completions.complete({.wr_id = receive_.wr_id,
                                        .status = status,
                                        .opcode = CompletionOpcode::kReceive,
                                        .solicited = true,
                                        .qp_number = config_.local_qp,
                                        .source_qp = config_.remote_qp});
}

// A refusal is the last thing this responder says. Responses to READs before it still go out first.
void Responder::refuse(Nak reason, Psn psn) {
  switch (reason) {
    case Nak::kRemoteAccessError:
      around_.counters.add(Counter::kRequestAccessError);
      around_.events.on_qp_event(config_.local_qp, QpEvent::kAccessError);
      break;
    case Nak::kRemoteOperationalError:
      around_.counters.add(Counter::kRequestOperationError);
      around_.events.on_qp_event(config_.local_qp, QpEvent::kFatal);
      break;
    default:
      around_.counters.add(Counter::kRequestInvalid);
      around_.events.on_qp_event(config_.local_qp, QpEvent::kRequestError);
  }
  nak_ = OwedNak{nak_syndrome(reason), psn};
  acknowledge_ = false;
  has_failed_ = true;
}

void Responder::flush() {
  reads_.drop_pending();
  acknowledge_ = false;
  nak_.reset();
  message_ = {};
  if (has_receive_) complete_receive(CompletionStatus::kWorkRequestFlushed);
  while (around_.receive_queue.take(receive_)) complete_receive(CompletionStatus::kWorkRequestFlushed);
}

std::size_t Responder::poll_transmit(std::span<std::byte> out) {
  while (reads_.has_pending()) {
    if (const std::size_t size = emit_read_response(out)) return size;
  }
  if (nak_) {
    const OwedNak nak = *nak_;
    nak_.reset();
    // It acknowledges everything before its PSN.
    acknowledge_ = false;
    if (kind_of(nak.syndrome) == SyndromeKind::kRnrNak) around_.counters.add(Counter::kRnrNakSent);
    return emit_acknowledge(nak.syndrome, nak.psn, out);
  }
  if (acknowledge_) {
    acknowledge_ = false;
    return emit_acknowledge(kAckSyndrome, expected_psn_ - 1, out);
  }
  return 0;
}

// Memory is read now, for a repeated READ again (fact 26). Returns 0, with a NAK owed, when it cannot be read
// any more.
std::size_t Responder::emit_read_response(std::span<std::byte> out) {
  static constexpr auto opcode_of = [](const ReadResponses::Part& part) {
    if (part.is_first) {
      return part.is_last ? wire::Opcode::kRcReadResponseOnly : wire::Opcode::kRcReadResponseFirst;
    }
    return part.is_last ? wire::Opcode::kRcReadResponseLast : wire::Opcode::kRcReadResponseMiddle;
  };
  const ReadResponses::Part part = *reads_.next();
  const wire::Opcode opcode = opcode_of(part);
  const std::size_t header_size = wire::header_bytes(opcode);
  if (part.size > 0 && around_.dma.read_remote(config_.pd, part.rkey, part.address,
                                               out.subspan(header_size, part.size)) != DmaStatus::kOk) {
    if (part.is_repeat) {
      reads_.drop_current();
      return 0;
    }
    reads_.drop_pending();
    refuse(Nak::kRemoteAccessError, part.psn);
    return 0;
  }
  reads_.advance();
  const std::uint8_t padding = wire::pad_bytes(part.size);
  std::memset(out.data() + header_size + part.size, 0, padding);
  const Packet packet{
      .bth = {.opcode = opcode, .pad_count = padding, .destination_qp = config_.remote_qp, .psn = part.psn},
      .aeth = {.syndrome = kAckSyndrome, .msn = part.msn}};
  return wire::emit_headers(packet, out) + part.size + padding;
}

std::size_t Responder::emit_acknowledge(std::uint8_t syndrome, Psn psn, std::span<std::byte> out) {
  const Packet packet{
      .bth = {.opcode = wire::Opcode::kRcAcknowledge, .destination_qp = config_.remote_qp, .psn = psn},
      .aeth = {.syndrome = syndrome, .msn = msn_}};
  return wire::emit_headers(packet, out);
}

}  // namespace urnic::transport
