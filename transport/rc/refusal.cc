// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/refusal.h"

#include <cstddef>

#include "transport/rc/request_operation.h"

namespace urnic::transport {

Counter counter_for(Nak nak) {
  switch (nak) {
    case Nak::kPsnSequenceError:
      return Counter::kOutOfSequence;
    case Nak::kInvalidRequest:
      return Counter::kRequestInvalid;
    case Nak::kRemoteAccessError:
      return Counter::kRequestAccessError;
    case Nak::kRemoteOperationalError:
      return Counter::kRequestOperationError;
  }
  return Counter::kRequestOperationError;
}

std::optional<QpEvent> event_for(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kNotInsideMessage:
    case RefusalReason::kNoXrcReceiver:
    case RefusalReason::kQueuePairRights:
      return QpEvent::kRequestError;
    case RefusalReason::kPacketLength:
    case RefusalReason::kTooManyReads:
    case RefusalReason::kMemory:
    case RefusalReason::kMisaligned:
      return QpEvent::kAccessError;
    case RefusalReason::kReceiveTooSmall:
    case RefusalReason::kReceiveMemory:
    case RefusalReason::kInvalidate:
      break;
  }
  return std::nullopt;
}

RefusedRequest describe(const Refusal& refusal, const wire::Packet& packet, const RefusedMessage& message) {
  const wire::OpcodeInfo& info = *packet.info;
  RefusedRequest request{.reason = refusal.reason,
                         .memory = refusal.memory,
                         .opcode = packet.bth.opcode,
                         .psn = packet.bth.psn,
                         .payload_bytes = static_cast<std::uint32_t>(packet.payload.size()),
                         .rkey = message.rkey,
                         .address = message.address,
                         .length = packet.payload.size(),
                         .wanted = access_wanted(packet),
                         .room = message.room};
  if (has(info.headers, wire::Headers::kReth)) {
    request.rkey = packet.reth.rkey;
    request.address = packet.reth.address;
    request.length = packet.reth.length;
  } else if (has(info.headers, wire::Headers::kAtomicEth)) {
    request.rkey = packet.atomic.rkey;
    request.address = packet.atomic.address;
    request.length = kAtomicBytes;
  } else if (info.operation == wire::Operation::kSend) {
    request.rkey = packet.invalidate_rkey;
    request.length = message.received_bytes + packet.payload.size();
  }
  return request;
}

}  // namespace urnic::transport
