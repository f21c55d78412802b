// Work that a NIC does alone, without a packet: LOCAL_INV and BIND_MW.
#pragma once

#include "transport/completion.h"
#include "transport/dma.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// Does it, for the queue pair that `user` names; the status is what it completes with. Only for operations
/// that is_local(). The caller sees to the order: what was posted before it is done, what was posted after it
/// has not begun. So a window is open when the SEND behind it tells the peer its key, and nothing of ours
/// uses a key that is taken back.
CompletionStatus do_local_work(Dma& dma, const MemoryUser& user, const SendRequest& request);

}  // namespace urnic::transport
