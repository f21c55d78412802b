// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which counter counts the messages of an operation.
#pragma once

#include "transport/counters.h"
#include "transport/wire/packet.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// Counts the message that begins with `packet`, if one does. FLUSH and ATOMIC WRITE have no counter.
inline void count_received(const wire::Packet& packet, Counters& counters) {
  if (!packet.info->begins_message()) return;
  switch (packet.info->operation) {
    case wire::Operation::kSend:
      return counters.add(Counter::kReceivedSendRequests);
    case wire::Operation::kWrite:
      return counters.add(Counter::kReceivedWriteRequests);
    case wire::Operation::kReadRequest:
      return counters.add(Counter::kReceivedReadRequests);
    case wire::Operation::kCompareSwap:
    case wire::Operation::kFetchAdd:
      return counters.add(Counter::kReceivedAtomicRequests);
    default:
      return;
  }
}

/// Counts a message that leaves for the first time.
inline void count_sent(SendOperation operation, Counters& counters) {
  switch (operation) {
    case SendOperation::kSend:
    case SendOperation::kSendWithImmediate:
    case SendOperation::kSendWithInvalidate:
      return counters.add(Counter::kSentSendRequests);
    case SendOperation::kWrite:
    case SendOperation::kWriteWithImmediate:
      return counters.add(Counter::kSentWriteRequests);
    case SendOperation::kRead:
      return counters.add(Counter::kSentReadRequests);
    case SendOperation::kCompareSwap:
    case SendOperation::kFetchAdd:
      return counters.add(Counter::kSentAtomicRequests);
    case SendOperation::kFlush:
    case SendOperation::kAtomicWrite:
    case SendOperation::kLocalInvalidate:
    case SendOperation::kBindWindow:
      return;
  }
}

}  // namespace urnic::transport
