#include "transport/uc/requester.h"

#include <algorithm>

#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

namespace {

using wire::Opcode;

/// The packets that a message of one operation is made of.
struct MessageOpcodes {
  SendOperation operation;
  Opcode first, middle, last, only;
};
constexpr MessageOpcodes kMessageOpcodes[] = {
    {SendOperation::kSend, Opcode::kRcSendFirst, Opcode::kRcSendMiddle, Opcode::kRcSendLast,
     Opcode::kRcSendOnly},
    {SendOperation::kSendWithImmediate, Opcode::kRcSendFirst, Opcode::kRcSendMiddle,
     Opcode::kRcSendLastWithImmediate, Opcode::kRcSendOnlyWithImmediate},
    {SendOperation::kWrite, Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle, Opcode::kRcWriteLast,
     Opcode::kRcWriteOnly},
    {SendOperation::kWriteWithImmediate, Opcode::kRcWriteFirst, Opcode::kRcWriteMiddle,
     Opcode::kRcWriteLastWithImmediate, Opcode::kRcWriteOnlyWithImmediate},
};

/// Null for an operation that this service does not have.
const MessageOpcodes* find_opcodes(SendOperation operation) {
  for (const MessageOpcodes& row : kMessageOpcodes) {
    if (row.operation == operation) return &row;
  }
  return nullptr;
}

Opcode opcode_at(const MessageOpcodes& row, bool is_first, bool is_last) {
  if (is_first) return is_last ? row.only : row.first;
  return is_last ? row.last : row.middle;
}

}  // namespace

std::size_t UcRequester::poll_transmit(std::span<std::byte> out) {
  while (queue_.has_work() && is_local(queue_.current().request.operation)) {
    queue_.do_local_work();
    if (queue_.has_failed()) return 0;
  }
  if (!queue_.has_work()) return 0;
  const SendWqe& wqe = queue_.current();
  const MessageOpcodes* const opcodes = find_opcodes(wqe.request.operation);
  if (opcodes == nullptr) return queue_.fail(CompletionStatus::kLocalQpOperationError);
  if (wqe.length > kMaxMessageBytes) return queue_.fail(CompletionStatus::kLocalLengthError);

  const std::uint32_t size = std::min(queue_.remaining_bytes(), bytes(config_.path_mtu));
  const bool is_last = size == queue_.remaining_bytes();
  const Opcode opcode = opcode_at(*opcodes, !queue_.is_inside_message(), is_last);
  // An acknowledgement is never asked for: there is none (fact 18).
  wire::Packet packet{
      .bth = {.opcode = with_service(opcode, wire::Service::kUc), .destination_qp = config_.remote_qp},
      .reth = {.address = wqe.request.remote_address, .rkey = wqe.request.rkey, .length = wqe.length}};
  return queue_.send(packet, size, out);
}

}  // namespace urnic::transport
