// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Observer: sees what happens inside the network, for captures and time series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/network/counters.h"
#include "drivers/network/routes.h"

namespace urnic::network {

/// Is called in the order of events. Frames are valid during the call. It must not call the network's
/// functions that change it.
class Observer {
 public:
  virtual ~Observer() = default;

  /// A frame, pause frames included, begins to leave the port; its first bit leaves at `time`.
  virtual void on_send([[maybe_unused]] PortId port, [[maybe_unused]] std::span<const std::byte> frame,
                       [[maybe_unused]] Time time) {}
  /// The queue has changed, and has `bytes` now.
  virtual void on_queue([[maybe_unused]] PortId port, [[maybe_unused]] unsigned priority,
                        [[maybe_unused]] std::uint64_t bytes, [[maybe_unused]] Time time) {}
  /// The frame, which is marked by now, is about to be queued.
  virtual void on_mark([[maybe_unused]] PortId port, [[maybe_unused]] unsigned priority,
                       [[maybe_unused]] std::span<const std::byte> frame, [[maybe_unused]] Time time) {}
  virtual void on_drop([[maybe_unused]] PortId port, [[maybe_unused]] unsigned priority,
                       [[maybe_unused]] DropReason reason, [[maybe_unused]] std::span<const std::byte> frame,
                       [[maybe_unused]] Time time) {}
  /// The port must not send this priority any more, or may again. Refreshed pauses are not told.
  virtual void on_pause([[maybe_unused]] PortId port, [[maybe_unused]] unsigned priority,
                        [[maybe_unused]] bool is_paused, [[maybe_unused]] Time time) {}
  /// The queue was paused for too long; its frames are dropped next.
  virtual void on_watchdog([[maybe_unused]] PortId port, [[maybe_unused]] unsigned priority,
                           [[maybe_unused]] Time time) {}
  virtual void on_link([[maybe_unused]] LinkId link, [[maybe_unused]] bool is_up,
                       [[maybe_unused]] Time time) {}
};

}  // namespace urnic::network
