#include "transport/rc/requester.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/wire/packet.h"

namespace urnic::transport {

namespace {

using wire::Opcode;

// The opcode of a data packet by operation and by whether it is the first and the last of its message.
Opcode data_opcode(SendOperation operation, bool is_first, bool is_last) {
  struct Row {
    Opcode middle, first, last, only;
  };
  static constexpr Row kSend{Opcode::kRcSendMiddle, Opcode::kRcSendFirst, Opcode::kRcSendLast,
                             Opcode::kRcSendOnly};
  static constexpr Row kWrite{Opcode::kRcWriteMiddle, Opcode::kRcWriteFirst, Opcode::kRcWriteLast,
                              Opcode::kRcWriteOnly};
  static constexpr std::array<Row, 4> kRows = {
      kSend,
      {kSend.middle, kSend.first, Opcode::kRcSendLastWithImmediate, Opcode::kRcSendOnlyWithImmediate},
      kWrite,
      {kWrite.middle, kWrite.first, Opcode::kRcWriteLastWithImmediate, Opcode::kRcWriteOnlyWithImmediate},
  };
  const Row& row = kRows[static_cast<std::size_t>(operation)];
  if (is_first) return is_last ? row.only : row.first;
  return is_last ? row.last : row.middle;
}

}  // namespace

std::size_t Requester::poll_transmit(std::span<std::byte> out, Time now) {
  if (!window_.has_work() || retry_.is_waiting_for_receiver()) return 0;
  const SendWqe& wqe = window_.begin_current();
  if (!may_send(wqe)) return 0;

  const std::size_t size = is_read(wqe.request.operation) ? emit_read_request(wqe, out) : emit_data(wqe, out);
  if (size == 0) return 0;
  window_.advance();
  retry_.on_sent(now);
  return size;
}

bool Requester::may_send(const SendWqe& wqe) const {
  if (wqe.request.fence && window_.reads_in_flight() > 0) return false;
  if (is_read(wqe.request.operation)) {
    return window_.reads_in_flight() < config_.max_reads_in_flight &&
           window_.has_psn_space(wqe.packet_count - window_.current_packet());
  }
  return window_.packets_in_flight() < config_.window_packets && window_.has_psn_space(1);
}

// A READ that was answered in part asks for the rest: later PSN and address, shorter (fact 26).
std::size_t Requester::emit_read_request(const SendWqe& wqe, std::span<std::byte> out) const {
  const std::uint32_t skipped = window_.current_packet() * bytes(config_.path_mtu);
  const wire::Packet packet{.bth = {.opcode = Opcode::kRcReadRequest,
                                    .destination_qp = config_.remote_qp,
                                    .ack_request = true,
                                    .psn = window_.cursor_psn()},
                            .reth = {.address = wqe.request.remote_address + skipped,
                                     .rkey = wqe.request.rkey,
                                     .length = wqe.length - skipped}};
  return wire::emit_headers(packet, out);
}

std::size_t Requester::emit_data(const SendWqe& wqe, std::span<std::byte> out) {
  const std::uint32_t packet_index = window_.current_packet();
  const std::uint32_t offset = packet_index * bytes(config_.path_mtu);
  const std::uint32_t size = std::min(wqe.length - offset, bytes(config_.path_mtu));
  const bool is_last = packet_index + 1 == wqe.packet_count;
  const Opcode opcode = data_opcode(wqe.request.operation, packet_index == 0, is_last);
  const wire::OpcodeInfo& info = wire::info(opcode);

  const std::uint8_t padding = wire::pad_bytes(size);
  const std::size_t header_size = wire::header_bytes(opcode);
  if (!gather(wqe, offset, out.subspan(header_size, size))) {
    // The work requests before this one complete first; then it is the oldest and fails.
    if (window_.current_is_head()) head_error_ = CompletionStatus::kLocalProtectionError;
    return 0;
  }
  std::memset(out.data() + header_size + size, 0, padding);

  // Ask often enough that the window never closes without an acknowledgement on its way.
  const bool ask = is_last || ++packets_since_ack_request_ >= std::max(config_.window_packets / 4, 1u);
  if (ask) packets_since_ack_request_ = 0;
  const bool may_be_solicited = is_last && (info.operation == wire::Operation::kSend || info.has_immediate());
  const wire::Packet packet{
      .bth = {.opcode = opcode,
              .solicited = wqe.request.solicited && may_be_solicited,
              .pad_count = padding,
              .destination_qp = config_.remote_qp,
              .ack_request = ask,
              .psn = window_.cursor_psn()},
      .reth = {.address = wqe.request.remote_address, .rkey = wqe.request.rkey, .length = wqe.length},
      .immediate = wqe.request.immediate};
  return wire::emit_headers(packet, out) + size + padding;
}

// Copies the message's bytes from `offset` on into `to`.
bool Requester::gather(const SendWqe& wqe, std::uint32_t offset, std::span<std::byte> to) {
  const std::uint32_t position = window_.current_position();
  if (wqe.is_inline) {
    const auto from = around_.send_queue.inline_data(position).subspan(offset, to.size());
    std::copy(from.begin(), from.end(), to.begin());
    return true;
  }
  for (const Sge& sge : around_.send_queue.sges(position)) {
    if (to.empty()) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const std::size_t size = std::min<std::size_t>(sge.length - offset, to.size());
    if (around_.dma.read_local(config_.pd, sge.lkey, sge.address + offset, to.first(size)) !=
        DmaStatus::kOk) {
      return false;
    }
    to = to.subspan(size);
    offset = 0;
  }
  return true;
}

}  // namespace urnic::transport
