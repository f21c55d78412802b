// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Work that a NIC does alone, without a packet: LOCAL_INV and BIND_MW.
#pragma once

#include "transport/completion.h"
#include "transport/dma.h"
#include "transport/queued_request.h"

namespace urnic::transport {

/// Does the work of `request` for the queue pair that `user` names, and returns the status that it completes
/// with. Only for operations that is_local(). The caller keeps the order: everything posted before it is
/// done, and nothing posted after it has begun. So a window is open when the next SEND tells the peer its
/// key, and nothing of ours uses a key that is taken back.
CompletionStatus do_local_work(Dma& dma, const MemoryUser& user, const QueuedRequest& request);

}  // namespace urnic::transport
