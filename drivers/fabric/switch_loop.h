// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SwitchLoop: the thread of a switch, and how others speak to it.
#pragma once

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "drivers/descriptor.h"
#include "drivers/fabric/switch.h"
#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Runs rounds while there are frames, and sleeps until one comes, or the switch has work without, when there
/// were none for a moment, or at once where others want the core.
class SwitchLoop {
 public:
  /// The error is the system's: no descriptors.
  static Result<std::unique_ptr<SwitchLoop>, Error> create(std::unique_ptr<Switch> it);
  SwitchLoop(const SwitchLoop&) = delete;
  SwitchLoop& operator=(const SwitchLoop&) = delete;

  /// Returns after stop(). On the thread that shall do the work.
  void run();
  /// From any thread, also before run() and in a signal handler.
  void stop();

  /// Adds a port. From any thread but the loop's; returns when it is part of the switch.
  Switch::PortNumber add(std::unique_ptr<nic::PacketPort> port);
  /// Has `question` look at the switch, between two rounds, on the loop's thread; returns when it has. From
  /// any thread but the loop's, while run() runs.
  void ask(const std::function<void(Switch&)>& question);

 private:
  SwitchLoop(std::unique_ptr<Switch> it, Descriptor event);
  void wake() const;
  void answer();
  void sleep_until(Switch::Clock::time_point next);

  const std::unique_ptr<Switch> switch_;
  const Descriptor event_;            // becomes readable when another thread wants something of the loop
  std::vector<pollfd> wake_sources_;  // the first one is event_, the others are the ports'
  std::vector<Switch::PortNumber> woken_ports_;  // by each of those but the first
  bool all_ports_wake_ = true;                   // false: one has no descriptor and is polled
  std::atomic<bool> stopped_ = false;

  std::mutex mutex_;
  std::condition_variable answered_;
  std::atomic<const std::function<void(Switch&)>*> question_ = nullptr;  // one at a time, see asking_
  std::mutex asking_;
};

}  // namespace urnic::drivers
