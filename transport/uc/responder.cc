// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/uc/responder.h"

#include "transport/request_counters.h"

namespace urnic::transport {

using wire::Operation;
using wire::Packet;
using wire::Position;

void UcResponder::start() {
  expected_psn_ = config_.receive_psn;
  message_ = {};
  has_failed_ = false;
}

// The order of the reliable connection's checks (facts 29 to 31); instead of a NAK the message is dropped.
void UcResponder::on_request(const Packet& packet) {
  if (packet.bth.psn != expected_psn_) {
    deps_.events.on_loss();
    deps_.counters.add(Counter::kOutOfSequence);
    abandon_message();
  }
  expected_psn_ = packet.bth.psn + 1;

  if (packet.info->begins_message()) {
    begin_message(packet);
  } else if (message_.operation != packet.info->operation) {
    return drop(Counter::kOutsideMessage);
  }
  if (!has_right_length(packet)) return drop(Counter::kRequestInvalid);
  if (packet.info->operation == Operation::kSend) return execute_send(packet);
  execute_write(packet);
}

// An unfinished message does not continue after another one has begun.
void UcResponder::begin_message(const Packet& packet) {
  abandon_message();
  count_received(packet, deps_.counters);
  message_ = {.operation = packet.info->operation,
              .address = packet.reth.address,
              .rkey = packet.reth.rkey,
              .remaining = packet.reth.length};
}

void UcResponder::abandon_message() {
  if (!is_message_open()) return;
  deps_.counters.add(Counter::kAbandonedMessage);
  message_ = {};
}

// The receive that a SEND has taken stays in hand for the next message.
void UcResponder::drop(Counter reason) {
  deps_.counters.add(reason);
  if (reason == Counter::kOutOfBuffer && deps_.observer != nullptr) deps_.observer->on_no_receive();
  message_ = {};
}

// First and middle packets fill the path MTU, a last packet is not empty, none exceeds it, and a WRITE brings
// exactly what its RETH announced (fact 29).
bool UcResponder::has_right_length(const Packet& packet) const {
  const std::size_t size = packet.payload.size();
  const std::size_t mtu = bytes(config_.path_mtu);
  const bool more_follow = !packet.info->ends_message();

  if (size > mtu) return false;
  if (more_follow && size < mtu) return false;
  if (packet.info->position == Position::kLast && size == 0) return false;
  if (packet.info->operation == Operation::kSend) return size <= kMaxMessageBytes - message_.received;
  if (message_.remaining > kMaxMessageBytes) return false;
  return more_follow ? size < message_.remaining : size == message_.remaining;
}

void UcResponder::execute_send(const Packet& packet) {
  if (!receive_.take()) return drop(Counter::kOutOfBuffer);
  if (packet.payload.size() > *receive_.room() - message_.received) return drop(Counter::kReceiveTooSmall);
  if (receive_.write(message_.received, packet.payload) != DmaStatus::kOk) {
    has_failed_ = true;
    message_ = {};
    return receive_.fail(CompletionStatus::kLocalProtectionError);
  }
  message_.received += static_cast<std::uint32_t>(packet.payload.size());
  if (packet.info->ends_message()) complete_receive(packet, CompletionOpcode::kReceive);
}

// The right of the queue pair, then key, bounds and right of the whole range, before anything of it is
// written (facts 30, 31).
std::optional<Counter> UcResponder::check_access(const Packet& packet) const {
  if (!packet.info->begins_message()) return std::nullopt;
  if (!allows(config_.access, Access::kRemoteWrite)) return Counter::kRequestInvalid;
  if (packet.reth.length == 0) return std::nullopt;
  const DmaStatus status = deps_.dma.check_remote(memory_user(config_), packet.reth.rkey, packet.reth.address,
                                                  packet.reth.length, Access::kRemoteWrite);
  return status == DmaStatus::kOk ? std::nullopt : std::optional(Counter::kRequestAccessError);
}

void UcResponder::execute_write(const Packet& packet) {
  if (const auto reason = check_access(packet)) return drop(*reason);
  // Later packets are checked as they are written: the region may be gone by now.
  if (!packet.payload.empty() && deps_.dma.write_remote(memory_user(config_), message_.rkey, message_.address,
                                                        packet.payload) != DmaStatus::kOk) {
    return drop(Counter::kRequestAccessError);
  }
  const auto size = static_cast<std::uint32_t>(packet.payload.size());
  message_.address += size;
  message_.remaining -= size;
  message_.received += size;
  if (!packet.info->ends_message()) return;
  if (packet.info->has_immediate()) return complete_write_with_immediate(packet);
  message_ = {};
}

// Without a receive the immediate is lost. What was written stays: it was as it should be.
void UcResponder::complete_write_with_immediate(const Packet& packet) {
  if (!receive_.take()) return drop(Counter::kOutOfBuffer);
  complete_receive(packet, CompletionOpcode::kReceiveRdmaWithImmediate);
}

void UcResponder::complete_receive(const Packet& packet, CompletionOpcode opcode) {
  receive_.complete({.opcode = opcode,
                     .has_immediate = packet.info->has_immediate(),
                     .solicited = packet.bth.solicited,
                     .byte_length = message_.received,
                     .immediate = packet.immediate,
                     .source_qp = config_.remote_qp});
  message_ = {};
}

}  // namespace urnic::transport
