// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/uc/requester.h"

#include <algorithm>

#include "transport/data_opcode.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

WrittenPacket UcRequester::poll_transmit(std::span<std::byte> out) {
  while (queue_.has_work() && is_local(queue_.current().request.operation)) {
    queue_.do_local_work();
    if (queue_.has_failed()) return {};
  }
  if (!queue_.has_work()) return {};
  const SendWqe& wqe = queue_.current();
  const DataOpcodes* const opcodes = find_data_opcodes(wqe.request.operation);
  // Only RC and XRC invalidate (the opcode table).
  const bool invalidates = wqe.request.operation == SendOperation::kSendWithInvalidate;
  if (opcodes == nullptr || invalidates) return queue_.fail(CompletionStatus::kLocalQpOperationError);
  if (wqe.length > kMaxMessageBytes) return queue_.fail(CompletionStatus::kLocalLengthError);

  const std::uint32_t size = std::min(queue_.remaining_bytes(), bytes(config_.path_mtu));
  const bool is_last = size == queue_.remaining_bytes();
  const wire::Opcode opcode = opcode_at(*opcodes, !queue_.is_inside_message(), is_last);
  // The packet never requests an acknowledgement: there is none (fact 18).
  wire::Packet packet{
      .bth = {.opcode = with_service(opcode, wire::Service::kUc), .destination_qp = config_.remote_qp},
      .reth = {.address = wqe.request.remote_address, .rkey = wqe.request.rkey, .length = wqe.length}};
  return queue_.send(packet, size, out);
}

}  // namespace urnic::transport
