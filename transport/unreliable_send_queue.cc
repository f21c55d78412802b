// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/unreliable_send_queue.h"

#include <algorithm>
#include <cassert>

#include "transport/local_work.h"
#include "transport/request_counters.h"
#include "transport/scatter_gather.h"
#include "transport/send_completion.h"

namespace urnic::transport {

void UnreliableSendQueue::start() {
  next_psn_ = config_.send_psn;
  sent_bytes_ = 0;
  resume();
}

void UnreliableSendQueue::resume() {
  is_draining_ = false;
  has_failed_ = false;
}

WrittenPacket UnreliableSendQueue::send(wire::Packet& packet, std::uint32_t size, std::span<std::byte> out) {
  assert(size <= remaining_bytes());
  const wire::OpcodeInfo& info = wire::info(packet.bth.opcode);
  const std::uint32_t header_size = wire::header_bytes(packet.bth.opcode);
  wire::TailCrc tail;
  if (const DmaStatus status = read(out.subspan(header_size, size), &tail); status != DmaStatus::kOk) {
    return fail(local_protection_error(status));
  }
  const std::uint8_t padding = wire::pad_bytes(size);
  wire::write_padding(out.subspan(header_size + size, padding), tail);

  // Only the packet that completes a receive at the peer can ask for the event (fact 17).
  const bool may_be_solicited =
      info.ends_message() && (info.operation == wire::Operation::kSend || info.has_immediate());
  packet.bth.solicited = current().request.solicited && may_be_solicited;
  packet.bth.pad_count = padding;
  packet.bth.psn = next_psn_;
  packet.immediate = current().request.immediate();
  wire::emit_headers(packet, out);

  next_psn_ = next_psn_ + 1;
  sent_bytes_ += size;
  if (info.ends_message()) retire({.status = CompletionStatus::kSuccess});
  return {.size = header_size + size + padding, .tail = tail};
}

WrittenPacket UnreliableSendQueue::send_bare(std::span<std::byte> out) {
  const std::uint32_t size = current().length;
  if (const DmaStatus status = read(out.first(size), nullptr); status != DmaStatus::kOk) {
    return fail(local_protection_error(status));
  }
  retire({.status = CompletionStatus::kSuccess});
  return {.size = size};
}

// Copies the message's bytes that come next into `to`.
DmaStatus UnreliableSendQueue::read(std::span<std::byte> to, wire::TailCrc* tail) const {
  const SendQueue& queue = deps_.send_queue;
  if (current().is_inline) {
    const auto from = queue.inline_data(queue.head()).subspan(sent_bytes_, to.size());
    std::copy(from.begin(), from.end(), to.begin());
    return DmaStatus::kOk;
  }
  if (current().keep_was_tried) return DmaStatus::kNotPresent;
  return gather(deps_.dma, config_.pd, queue.sges(queue.head()), sent_bytes_, to, tail);
}

void UnreliableSendQueue::do_local_work() {
  const CompletionStatus status =
      transport::do_local_work(deps_.dma, memory_user(config_), current().request);
  if (status == CompletionStatus::kSuccess) {
    retire({.status = status});
  } else {
    fail(status);
  }
}

WrittenPacket UnreliableSendQueue::fail(const SendOutcome& failure) {
  if (deps_.observer != nullptr && failure.status == CompletionStatus::kLocalProtectionError) {
    const SendQueue& queue = deps_.send_queue;
    deps_.observer->on_local_fault(
        {.elements = queue.sges(queue.head()), .pd = config_.pd, .is_write = false});
  }
  has_failed_ = true;
  retire(failure);
  return {};
}

// Begins with the last one posted: before one that was tried already, all were tried.
void UnreliableSendQueue::keep_unsent() {
  SendQueue& queue = deps_.send_queue;
  for (std::uint32_t at = queue.tail(); at != queue.head(); --at) {
    SendWqe& wqe = queue.at(at - 1);
    if (wqe.keep_was_tried) break;
    wqe.keep_was_tried = true;
    if (wqe.is_inline || wqe.length > queue.limits().kept_bytes) continue;
    const std::span<std::byte> place = queue.place_to_keep(at - 1);
    wqe.is_inline = gather(deps_.dma, config_.pd, queue.sges(at - 1), 0, place, nullptr) == DmaStatus::kOk;
  }
}

void UnreliableSendQueue::flush() {
  while (!deps_.send_queue.is_empty()) retire({.status = CompletionStatus::kWorkRequestFlushed});
}

void UnreliableSendQueue::retire(const SendOutcome& outcome) {
  if (outcome.status == CompletionStatus::kSuccess) count_sent(current().request.operation, deps_.counters);
  complete_send(deps_.send_queue.head(), outcome, config_, deps_);
  sent_bytes_ = 0;
  deps_.send_queue.pop();
}

}  // namespace urnic::transport
