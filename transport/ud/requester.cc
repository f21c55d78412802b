// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/ud/requester.h"

#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

namespace urnic::transport {

namespace {

/// In a work request's Q_Key: the queue pair's own shall be sent.
constexpr std::uint32_t kUseOwnQkey = 0x80000000;

}  // namespace

WrittenPacket UdRequester::poll_transmit(std::span<std::byte> out) {
  const CompletionStatus status = check();
  if (status != CompletionStatus::kSuccess) return queue_.fail(status);

  const SendWqe& wqe = queue_.current();
  const bool has_immediate = wqe.request.operation == SendOperation::kSendWithImmediate;
  wire::Packet packet{
      .bth = {.opcode = has_immediate ? wire::Opcode::kUdSendOnlyWithImmediate : wire::Opcode::kUdSendOnly,
              .destination_qp = wqe.request.destination().qp},
      .deth = {.qkey = qkey(), .source_qp = config_.local_qp}};
  return queue_.send(packet, wqe.length, out);
}

CompletionStatus UdRequester::check() const {
  const SendOperation operation = queue_.current().request.operation;
  const bool is_send = operation == SendOperation::kSend || operation == SendOperation::kSendWithImmediate;
  const bool has_address = queue_.current().request.destination().address != AddressHandleId{};
  if (!is_send || !has_address) return CompletionStatus::kLocalQpOperationError;
  const bool fits = queue_.current().length <= bytes(config_.path_mtu);
  return fits ? CompletionStatus::kSuccess : CompletionStatus::kLocalLengthError;
}

// Fact 16. So a program may use a Q_Key that only its queue pair was given.
std::uint32_t UdRequester::qkey() const {
  const std::uint32_t qkey = queue_.current().request.destination().qkey;
  return (qkey & kUseOwnQkey) != 0 ? config_.qkey : qkey;
}

Destination UdRequester::next_destination() const {
  return check() == CompletionStatus::kSuccess ? queue_.current().request.destination() : Destination{};
}

}  // namespace urnic::transport
