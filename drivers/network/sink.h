// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sink: where frames leave the network.
#pragma once

#include <cstddef>
#include <span>

#include "drivers/network/topology.h"

namespace urnic::network {

/// Its functions may call Network's functions, except run_until().
class Sink {
 public:
  virtual ~Sink() = default;

  /// The last bit of `frame` has reached `host`. The frame is valid during the call.
  virtual void deliver(HostId host, std::span<const std::byte> frame, Time time) = 0;
  /// The queue of `host` has more room for `priority`, or may send it again.
  virtual void on_room([[maybe_unused]] HostId host, [[maybe_unused]] unsigned priority,
                       [[maybe_unused]] Time time) {}
};

}  // namespace urnic::network
