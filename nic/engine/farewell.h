// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a device still says before a queue pair, or all of it, goes.
#pragma once

#include "transport/work_request.h"

namespace urnic::nic {

class Engine;
class QueuePair;

// Each of these four runs rounds for 5 ms at most. They take the lock of `engine`, and wait for nothing else.

/// Handles the frames that have come: until a round finds none.
void take_arrivals(Engine& engine);

// The other three run rounds until that is sent; the port may stay full.

/// What `qp` owes: its pending acknowledgements and responses.
void send_last_responses(Engine& engine, QueuePair& qp);
/// What was posted to `qp`, if peers do not acknowledge it. A program may post datagrams and destroy the
/// queue pair without polling: hardware has taken them by then.
void send_last_requests(Engine& engine, QueuePair& qp);
/// The same for datagrams to `address`, of all queue pairs.
void send_last_requests(Engine& engine, transport::AddressHandleId address);

/// Ends the connections that the program has by rdma_cm, as closing its channels would, and takes its
/// listeners away. Then runs rounds until everything that peers wait for has been sent, and peers that might
/// repeat a request, because frames get lost here, had the time to do so: for a second at most, and not at
/// all when no frame was sent during the last one. Where frames get lost and there are connections by
/// rdma_cm, until their timewait is over, for six seconds at most. Sleeps between rounds that do nothing,
/// except where the owner makes the progress (ProgressMode::kManual). Not under the lock.
void wait_for_peers(Engine& engine);

}  // namespace urnic::nic
