// Network: the hostile wires and the switch between the hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/sim/core/clock.h"
#include "tools/sim/core/event_queue.h"
#include "tools/sim/core/random.h"
#include "tools/sim/scenario/options.h"
#include "transport/wire/address.h"

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

/// The MAC of a host.
transport::wire::Mac mac_of(HostId host);

/// Takes frames from any host and adds the events of their delivery. Each host has a link to a switch that
/// knows all addresses: a frame waits for its sender's link, travels, and waits for its receiver's link,
/// where those of several senders meet; frames of one sender to one receiver keep their order, unless a fault
/// says otherwise. A frame for no one host goes to all others.
///
/// A damaged frame always has a flipped bit that its ICRC protects, or lost its end: a receiver that accepts
/// one is wrong. ARP and neighbor discovery have no such protection without the Ethernet FCS that the medium
/// would check, so their frames are lost where others are damaged.
class Network {
 public:
  Network(const Options& options, const SimClock& clock, EventQueue& events, FramePool& frames);

  void send(HostId from, std::span<const std::byte> bytes);

  /// From now on frames are only delayed. Those on their way stay as they are.
  void stop_faults() { faults_on_ = false; }

  const FaultCounts& faults() const { return counts_; }

 private:
  struct Link {
    LinkOptions options;
    Random random;
    Time free_at{};                   // when the last frame has left the sender
    Time receiver_free_at{};          // when the last frame has reached the host
    std::vector<Time> last_delivery;  // to each host, of frames that keep their order
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
  /// When the frame arrives that leaves now.
  Time arrival(Link& link, HostId to, std::size_t bytes, Duration late);
  bool damage(Frame& frame, Link& link);

  const Options& options_;
  const SimClock& clock_;
  EventQueue& events_;
  FramePool& frames_;
  bool faults_on_ = true;
  std::vector<Link> links_;
  FaultCounts counts_;
};

}  // namespace urnic::sim
