// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/requester.h"

#include <algorithm>
#include <cassert>

#include "transport/data_opcode.h"
#include "transport/local_work.h"
#include "transport/rc/request_operation.h"
#include "transport/request_counters.h"
#include "transport/scatter_gather.h"

namespace urnic::transport {

namespace {

using wire::Opcode;

/// The most READs in flight while packets are sent again. What is lost again is asked again with all READs
/// after it, and the peer answers each copy: many of them would keep it busy with answers that we do not
/// take.
constexpr std::uint32_t kRepeatedReads = 16;

bool consumes_receive(SendOperation operation) {
  return is_send(operation) || operation == SendOperation::kWriteWithImmediate;
}

}  // namespace

WrittenPacket Requester::poll_transmit(std::span<std::byte> out, std::uint32_t most, Time now) {
  if (retry_.is_waiting_for_receiver()) return {};
  window_.skip_unwanted();
  if (!has_work()) return wait(now);
  const bool is_paced = pacer_.is_active();
  if (is_paced) [[unlikely]] {
    window_packets_ = std::min(config_.window_packets, pacer_.window_packets(bytes(config_.path_mtu), now));
  }
  const SendWqe& wqe = window_.begin_current();
  if (is_local(wqe.request.operation) || !may_send(wqe) || (is_paced && pacer_.holds(now))) return wait(now);

  const Psn psn = window_.cursor_psn();
  const Psn end = psn + window_.current_psns();
  const bool is_repetition = window_.is_outstanding(psn);
  const bool is_first = window_.current_packet() == 0 && !is_repetition;
  const WrittenPacket packet = emit_request(wqe, out, most, now);
  if (packet.size == 0) return {};
  if (is_first) count_sent(wqe.request.operation, deps_.counters);
  window_.advance(packet.packets);
  if (is_repetition) window_.recovery().on_sent_again(psn, end, window_.sent_end());
  retry_.on_sent(now);
  if (is_paced) [[unlikely]] {
    pacer_.on_sent({.psn = psn,
                    .bytes = packet.size,
                    .asks_for_ack = has_response(wqe.request.operation) || packets_since_ack_request_ == 0,
                    .is_repetition = is_repetition},
                   now);
  }
  return packet;
}

// Nothing can leave now. The ACK timer runs for what is on its way, also when it stood still for what was to
// be sent again.
WrittenPacket Requester::wait(Time now) {
  if (window_.has_in_flight()) retry_.on_sent(now);
  return {};
}

bool Requester::may_send(const SendWqe& wqe) const {
  if (retry_.is_probing() && window_.psns_in_flight() >= config_.window_after_timeout) return false;
  if (wqe.request.fence && window_.current_packet() == 0 && window_.reads_in_flight() > 0) return false;
  if (has_response(wqe.request.operation)) return may_ask(wqe);
  if (consumes_receive(wqe.request.operation) && !credits_.cover(wqe) && !window_.current_is_head()) {
    return false;
  }
  return window_.packets_in_flight() < window_packets_ && window_.has_psn_space(1) && window_.reach() > 0;
}

// Responses of READs are bounded by the window as requests are: what the peer sends at once may be more than
// the way to us holds, and then all of it is lost again each time.
bool Requester::may_ask(const SendWqe& wqe) const {
  const std::uint32_t allowed = std::max<std::uint32_t>(config_.max_reads_in_flight, 1);
  const std::uint32_t most = window_.is_repeating() ? std::min(allowed, kRepeatedReads) : allowed;
  const std::uint32_t psns = window_.current_psns();
  if (window_.reads_in_flight() >= most || !window_.has_psn_space(psns)) return false;
  const bool is_read = wqe.request.operation == SendOperation::kRead;
  return !is_read || window_.read_psns_in_flight() + psns <= config_.window_packets;
}

// On a network an ACK takes so long that a window needs several. A congestion controller learns from each.
// A link that takes runs is memory: the ACK is there at once, but costs both NICs a turn on a processor.
std::uint32_t Requester::packets_between_ack_requests(bool takes_runs) const {
  const std::uint32_t parts_of_window = takes_runs && !pacer_.is_active() ? 2 : 4;
  return std::max(window_packets_ / parts_of_window, 1u);
}

// How many packets of the message may leave as one, `most` at most: as many as would leave one after the
// other, up to the first that asks for an acknowledgement. What is sent again is sent in single packets: some
// of it may have come. After a loss and with a controller each packet is decided on by itself.
std::uint32_t Requester::run_length(const SendWqe& wqe, std::uint32_t most) const {
  if (most <= 1 || wqe.packet_count == 1) return 1;
  if (retry_.is_probing() || pacer_.is_active() || window_.is_repeating()) return 1;
  const std::uint32_t left = std::min({most, wqe.packet_count - window_.current_packet(),
                                       window_packets_ - window_.packets_in_flight(), window_.reach()});
  if (!window_.has_psn_space(left)) return 1;
  const std::uint32_t between = packets_between_ack_requests(true);
  return std::min(left, std::max(between, packets_since_ack_request_ + 1) - packets_since_ack_request_);
}

WrittenPacket Requester::emit_request(const SendWqe& wqe, std::span<std::byte> out, std::uint32_t most,
                                      Time now) {
  switch (wqe.request.operation) {
    case SendOperation::kRead:
      return emit_read_request(wqe, out);
    case SendOperation::kCompareSwap:
    case SendOperation::kFetchAdd:
      return emit_atomic(wqe, out);
    case SendOperation::kFlush:
      return emit_flush(wqe, out);
    case SendOperation::kAtomicWrite:
      return emit_atomic_write(wqe, out);
    case SendOperation::kSend:
    case SendOperation::kSendWithImmediate:
    case SendOperation::kSendWithInvalidate:
    case SendOperation::kWrite:
    case SendOperation::kWriteWithImmediate:
      return emit_data(wqe, out, most, now);
    case SendOperation::kLocalInvalidate:
    case SendOperation::kBindWindow:
      break;
  }
  assert(!"local work sends no packet");
  return {};
}

// What all request packets have in common. Packets that have a response ask for it by being what they are,
// and for an acknowledgement besides, as rdma_rxe does.
wire::Packet Requester::packet_for(const SendWqe& wqe, Opcode opcode) const {
  return {.bth = {.opcode = with_service(opcode, config_.service),
                  .destination_qp = config_.remote_qp,
                  .ack_request = true,
                  .psn = window_.cursor_psn()},
          .reth = {.address = wqe.request.remote_address, .rkey = wqe.request.rkey, .length = wqe.length},
          .xrc_srq = wqe.request.xrc_srq};
}

// The next piece of a READ, or what is missing of one that was answered in part: later PSN and address,
// shorter (fact 26).
WrittenPacket Requester::emit_read_request(const SendWqe& wqe, std::span<std::byte> out) const {
  const std::uint32_t mtu = bytes(config_.path_mtu);
  const std::uint32_t skipped = window_.current_packet() * mtu;
  wire::Packet packet = packet_for(wqe, Opcode::kRcReadRequest);
  packet.reth.address += skipped;
  packet.reth.length = std::min(wqe.length - skipped, window_.current_psns() * mtu);
  return {.size = wire::emit_headers(packet, out)};
}

WrittenPacket Requester::emit_flush(const SendWqe& wqe, std::span<std::byte> out) const {
  const Flush flush = wqe.request.flush();
  wire::Packet packet = packet_for(wqe, Opcode::kRcFlush);
  packet.reth.length = flush.length;
  packet.feth = {
      .placement_type = static_cast<std::uint8_t>((allows(flush.access, Access::kFlushGlobal) ? 1 : 0) |
                                                  (allows(flush.access, Access::kFlushPersistent) ? 2 : 0)),
      .selectivity = static_cast<std::uint8_t>(flush.scope)};
  return {.size = wire::emit_headers(packet, out)};
}

WrittenPacket Requester::emit_atomic(const SendWqe& wqe, std::span<std::byte> out) {
  if (wqe.length != kAtomicBytes) return fail_head({.status = CompletionStatus::kLocalLengthError});
  const bool is_swap = wqe.request.operation == SendOperation::kCompareSwap;
  wire::Packet packet = packet_for(wqe, is_swap ? Opcode::kRcCompareSwap : Opcode::kRcFetchAdd);
  packet.atomic = {.address = wqe.request.remote_address,
                   .rkey = wqe.request.rkey,
                   .swap_or_add = wqe.request.swap_or_add(),
                   .compare = wqe.request.compare()};
  return {.size = wire::emit_headers(packet, out)};
}

WrittenPacket Requester::emit_atomic_write(const SendWqe& wqe, std::span<std::byte> out) {
  if (wqe.length != kAtomicBytes) return fail_head({.status = CompletionStatus::kLocalLengthError});
  const wire::Packet packet = packet_for(wqe, Opcode::kRcAtomicWrite);
  const std::uint32_t header_size = wire::header_bytes(packet.bth.opcode);
  const DmaStatus status = read(wqe, 0, out.subspan(header_size, kAtomicBytes), nullptr);
  if (status != DmaStatus::kOk) return fail_memory(status);
  return {.size = wire::emit_headers(packet, out) + kAtomicBytes};
}

WrittenPacket Requester::emit_data(const SendWqe& wqe, std::span<std::byte> out, std::uint32_t most,
                                   Time now) {
  const std::uint32_t packets = run_length(wqe, most);
  const std::uint32_t packet_index = window_.current_packet();
  const std::uint32_t offset = packet_index * bytes(config_.path_mtu);
  const std::uint32_t size = std::min(wqe.length - offset, packets * bytes(config_.path_mtu));
  const bool is_last = packet_index + packets == wqe.packet_count;
  const DataOpcodes& opcodes = *find_data_opcodes(wqe.request.operation);
  wire::Packet packet = packet_for(wqe, opcode_at(opcodes, packet_index == 0, is_last));
  const wire::OpcodeInfo& info = wire::info(packet.bth.opcode);

  const std::uint8_t padding = wire::pad_bytes(size);
  const std::uint32_t header_size = wire::header_bytes(packet.bth.opcode);
  wire::TailCrc tail;
  const DmaStatus status = read(wqe, offset, out.subspan(header_size, size), packets == 1 ? &tail : nullptr);
  if (status != DmaStatus::kOk) {
    // All before the first packet that cannot be read leaves.
    return packets == 1 ? fail_memory(status) : emit_data(wqe, out, 1, now);
  }
  wire::write_padding(out.subspan(header_size + size, padding), tail);

  // Ask often enough that the window never closes, and no wait begins, without an acknowledgement on its way.
  const bool is_last_of_probe =
      retry_.is_probing() && window_.psns_in_flight() + 1 >= config_.window_after_timeout;
  packets_since_ack_request_ += packets;
  const bool ask = is_last || is_last_of_probe ||
                   packets_since_ack_request_ >= packets_between_ack_requests(most > 0) ||
                   (pacer_.is_active() && pacer_.holds_behind(header_size + size + padding, now));
  if (ask) packets_since_ack_request_ = 0;
  const bool may_be_solicited = is_last && (info.operation == wire::Operation::kSend || info.has_immediate());
  packet.bth.solicited = wqe.request.solicited && may_be_solicited;
  packet.bth.pad_count = padding;
  packet.bth.ack_request = ask;
  packet.immediate = wqe.request.immediate();
  packet.invalidate_rkey = wqe.request.invalidate_rkey();
  return {.size = wire::emit_headers(packet, out) + size + padding, .packets = packets, .tail = tail};
}

// Copies the message's bytes from `offset` on into `to`.
DmaStatus Requester::read(const SendWqe& wqe, std::uint32_t offset, std::span<std::byte> to,
                          wire::TailCrc* tail) {
  const std::uint32_t position = window_.current_position();
  if (wqe.is_inline) {
    const auto from = deps_.send_queue.inline_data(position).subspan(offset, to.size());
    std::copy(from.begin(), from.end(), to.begin());
    return DmaStatus::kOk;
  }
  return gather(deps_.dma, config_.pd, deps_.send_queue.sges(position), offset, to, tail);
}

// The work requests before this one complete first; then it is the oldest and fails. Nothing is sent.
WrittenPacket Requester::fail_head(const SendOutcome& failure) {
  if (window_.current_is_head()) head_error_ = failure;
  return {};
}

WrittenPacket Requester::fail_memory(DmaStatus status) {
  if (deps_.observer != nullptr && window_.current_is_head()) {
    deps_.observer->on_local_fault(
        {.elements = deps_.send_queue.sges(window_.current_position()), .pd = config_.pd, .is_write = false});
  }
  return fail_head(local_protection_error(status));
}

bool Requester::is_at_local_work() {
  if (!has_work() || !window_.current_is_head() || window_.has_outstanding()) return false;
  return is_local(window_.begin_current().request.operation);
}

CompletionStatus Requester::do_local_work() {
  return transport::do_local_work(deps_.dma, memory_user(config_), window_.begin_current().request);
}

}  // namespace urnic::transport
