// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Network: the hostile wires of the hosts, and the path between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/random.h"
#include "tools/simulation/seeds/network/path.h"
#include "tools/simulation/seeds/network/path_counts.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

/// How often each fault was injected.
struct FaultCounts {
  std::uint64_t lost = 0;
  std::uint64_t lost_in_burst = 0;
  std::uint64_t lost_in_blackout = 0;
  std::uint64_t lost_in_partition = 0;
  std::uint64_t lost_exactly = 0;
  std::uint64_t management_lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t truncated = 0;
  std::uint64_t padded = 0;
  std::uint64_t paused = 0;
  std::uint64_t congestion_marked = 0;
};

class SwitchedPath;

/// Takes frames from any host and adds the events of their delivery. A frame waits for its sender's wire, on
/// which all faults happen, and then takes the path of this world: through one switch that only delays, or,
/// if the options have a topology, through that. Frames of one sender to one receiver keep their order,
/// unless a fault or a topology says otherwise. A frame that is not for one host goes to all others.
///
/// A damaged frame always has a flipped bit that its ICRC protects, or lost its end: a receiver that accepts
/// one is wrong. ARP and neighbor discovery have no such protection without the Ethernet FCS that the medium
/// would check, so their frames are lost where others are damaged.
class Network {
 public:
  Network(const Options& options, const kernel::Clock& clock, EventQueue& events);

  ~Network();

  void send(HostId from, std::span<const std::byte> bytes);

  /// From now on frames are only delayed. Those on their way stay as they are.
  void stop_faults();

  /// What happens inside the path, which the world's events do not know of.
  Path& path() { return *path_; }
  const Path& path() const { return *path_; }

  const FaultCounts& faults() const { return counts_; }
  /// Null without a topology.
  const PathCounts* path_counts() const;

 private:
  struct Link {
    LinkOptions options;
    Random random;
    Time free_at{};  // when the last frame has left the sender
    Time blackout_until{};
    std::uint64_t burst_left = 0;
    std::vector<std::uint64_t> seen;  // of each kind of packet, for exact losses
  };

  bool is_lost(HostId from, HostId to, Link& link, std::span<const std::byte> bytes);
  void send_management(HostId from, HostId to, Link& link, std::span<const std::byte> bytes);
  bool is_lost_at_random(Link& link);
  bool is_cut(const std::vector<Partition>& partitions, HostId from, HostId to) const;
  bool is_lost_exactly(HostId from, Link& link, std::span<const std::byte> bytes);
  void send_to(HostId from, HostId to, std::span<const std::byte> bytes);
  /// `late` is added to the usual delay, and the frame then keeps no order.
  void deliver(HostId from, HostId to, std::span<const std::byte> bytes, Duration late = Duration(0));
  bool damage(Frame& frame, Link& link);

  const Options& options_;
  const kernel::Clock& clock_;
  std::unique_ptr<Path> path_;
  const SwitchedPath* switched_ = nullptr;  // the same, if it is one
  bool faults_on_ = true;
  std::vector<Link> links_;
  FaultCounts counts_;
};

}  // namespace urnic::sim
