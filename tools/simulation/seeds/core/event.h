// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Event: something that happens in a simulated world.
#pragma once

#include <cstdint>

#include "tools/simulation/kernel/event_queue.h"
#include "tools/simulation/kernel/frame.h"
#include "tools/simulation/seeds/core/host_id.h"
#include "transport/time.h"

namespace urnic::sim {

using kernel::Frame;
using transport::Duration;
using transport::Time;

struct Event {
  enum class Kind : std::uint8_t {
    kDeliver,       ///< `frame` reaches `host`
    kEnter,         ///< `frame` of `host` reaches the first queue of the network
    kPostSends,     ///< the application at `side`, or on `host`, posts to its send queue
    kPostReceives,  ///< the same for the receive queue
    kPostShared,    ///< `host` posts to its shared receive queue `traffic`
    kPairStep,      ///< the next step in the life of a pair: error, reset, connect
    kQueueStep,     ///< the send queue at `side`, or on `host`, is drained, or goes on
    kDeregister,    ///< the application on `host` deregisters memory that others may be using
    kCheckMemory,   ///< the memory oracle looks at everything
    kProgramStep,   ///< a program goes on that connects by rdma_cm
    kNothing,       ///< time passes
  };

  Time time{};
  Kind kind = Kind::kNothing;
  HostId host{};
  Side side{};
  std::uint32_t traffic = 0;  // which of the applications
  Frame frame{};
};

using EventQueue = kernel::EventQueue<Event>;

}  // namespace urnic::sim
