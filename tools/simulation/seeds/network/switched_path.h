// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SwitchedPath: the switches and links of a random topology.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drivers/network/network.h"
#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/network/direct_path.h"
#include "tools/simulation/seeds/network/path.h"
#include "tools/simulation/seeds/network/path_counts.h"

namespace urnic::sim {

/// Frames go through drivers/network, which queues, marks, drops and pauses them, until the faults stop. From
/// then on they travel directly.
///
/// A network that pauses may never deliver what is in it. So it gives up what it has had for kMaxTransit, as
/// real ones have a limit, and so long after the faults stopped nothing happens in it any more: all that it
/// could deliver would be too old. Until then late frames come out of it, between those that travel directly.
///
/// Each frame has a label at its end while it is inside, in the place of the FCS. Frames for all hosts, and
/// frames whose MAC a fault has changed, are flooded; the label says at which host they end. A damaged frame
/// that is shorter than Ethernet allows gets no further than the first switch.
class SwitchedPath final : public Path, private network::Sink {
 public:
  /// `options` have a topology.
  SwitchedPath(const Options& options, const kernel::Clock& clock, EventQueue& events);

  void carry(Trip trip) override;
  void enter(HostId from, Frame frame) override;
  Time next_event() const override;
  void run_until(Time now) override;
  bool has_room(HostId from) const override;
  void stop_faults() override;

  const PathCounts& counts() const { return watcher_.counts(); }

 private:
  /// What is under way to the port of a sender's NIC.
  struct Sender {
    Time last_entry{};  // of frames that keep their order
    std::uint64_t bytes_entering = 0;
  };

  bool is_stopped() const { return stopped_at_ != transport::kNever; }
  void deliver(network::HostId host, std::span<const std::byte> frame, Time time) override;

  const kernel::Clock& clock_;
  EventQueue& events_;
  DirectPath direct_;
  PathWatcher watcher_;
  network::Network network_;
  std::vector<Sender> senders_;
  Time stopped_at_ = transport::kNever;
};

}  // namespace urnic::sim
