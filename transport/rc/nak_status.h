// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a request ends that the responder refuses.
#pragma once

#include "transport/completion.h"
#include "transport/rc/syndrome.h"

namespace urnic::transport {

/// The status that the requester's program sees. A PSN sequence error has none: the requester sends again.
constexpr CompletionStatus status_of(Nak reason) {
  switch (reason) {
    case Nak::kRemoteAccessError:
      return CompletionStatus::kRemoteAccessError;
    case Nak::kRemoteOperationalError:
      return CompletionStatus::kRemoteOperationError;
    case Nak::kInvalidRequest:
    case Nak::kPsnSequenceError:
      break;
  }
  return CompletionStatus::kRemoteInvalidRequest;
}

}  // namespace urnic::transport
