// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Options: everything that makes one simulated world different from another, drawn from its seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/network/topology.h"
#include "nic/adversary/settings.h"
#include "tools/simulation/seeds/core/event.h"
#include "tools/simulation/seeds/core/wire_view.h"
#include "transport/congestion/choice.h"
#include "transport/qp_config.h"
#include "transport/types.h"

namespace urnic::sim {

/// Kinds of send work request that hosts post; see kPlannedOperationKinds of plan.h.
inline constexpr std::size_t kPlannedOperations = 12;

/// What the network does to the frames that one host sends while faults are on: probabilities per frame.
struct FaultRates {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  double corruption = 0;
  double truncation = 0;
  double padding = 0;     ///< bytes after the IP packet, which are harmless (fact 4)
  double blackout = 0;    ///< begins a time in which every frame is lost
  double burst = 0;       ///< begins a loss of several frames in a row
  double pause = 0;       ///< stops the link for a while; what is sent meanwhile is late
  double congestion = 0;  ///< sets ECN to CE

  bool any() const {
    return loss + duplication + reordering + corruption + truncation + padding + blackout + burst + pause +
               congestion >
           0;
  }
};

/// How the frames that one host sends travel.
struct LinkOptions {
  double nanoseconds_per_byte = 0.2;
  Duration base_delay{};
  Duration jitter{};         ///< added at random; frames do not overtake one another by it
  Duration reorder_delay{};  ///< at most that much is added to frames that others shall overtake, and to late
                             ///< duplicates
  Duration blackout_time{};  ///< at most
  Duration pause_time{};     ///< at most
  FaultRates faults;
};

/// Nothing that `from` sends reaches `to` for a while; the other way it does.
struct Partition {
  HostId from{};
  HostId to{};
  Time begin{};
  Time end{};
};

/// Of the packets of one kind that a host sends, those with these numbers are lost; the first has number 1.
struct ExactLoss {
  HostId from{};
  PacketKind kind{};
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};

/// Programs that connect by rdma_cm, and what the network does to the messages of the connection manager on
/// top of what it does to all frames. Those are few and their waits are seconds, so that faults for any frame
/// would hardly ever hit one.
struct ConnectionOptions {
  std::uint32_t attempts = 0;  ///< to connect; 0: no program uses rdma_cm
  double loss = 0;             ///< probability per message
  double duplication = 0;
  double lateness = 0;            ///< of being late by up to `delay`, so that others overtake it
  Duration delay{};               ///< less than the packet lifetime that managers reckon with
  std::vector<Partition> cuts{};  ///< that let everything pass except these messages
  Duration faults_until{};        ///< all of that stops then at the latest
  bool is_slow = false;           ///< programs fetch events now and then, not at once
  bool may_leave = false;         ///< programs may give up in the middle of anything
};

/// How frames get from one host to another: over their wires and one switch that only delays, or through a
/// topology.
enum class PathKind : std::uint8_t { kDirect, kSwitched };

/// "direct", "switched".
std::string_view name_of(PathKind kind);
std::optional<PathKind> parse_path(std::string_view name);

/// What the user decides, so that what the seed draws of it does not count.
struct Forced {
  std::optional<transport::Recovery> recovery{};  ///< of all RC pairs
  std::optional<PathKind> path{};
  std::optional<bool> adversaries{};  ///< whether all NICs have one, or none

  bool any() const { return recovery || path || adversaries; }
};

/// Swarm testing: each seed turns some things on and others off, so that one feature does not hide another.
struct Options {
  static Options draw(std::uint64_t seed, const Forced& forced = {});
  /// One line: every option with its value.
  std::string to_string() const;

  std::uint64_t seed = 0;

  // The connections.
  std::uint32_t hosts = 2;
  std::vector<std::array<HostId, 2>>
      ends{};  ///< by pair, the violator included: where its two queue pairs are
  transport::PathMtu path_mtu = transport::PathMtu::k1024;
  bool ipv6 = false;
  std::uint32_t pairs = 1;                  ///< of queue pairs, without the violator
  bool violator = false;                    ///< one more pair, whose work requests break rules on purpose
  std::vector<bool> is_xrc{};               ///< by pair, the violator's last: XRC instead of RC
  std::vector<bool> repeats_selectively{};  ///< the same: both ends have agreed to, which only RC can
  std::uint32_t unreliable_pairs = 0;
  std::uint32_t datagram_hosts = 0;  ///< that send each other datagrams; 0 or 2 and more
  bool psn_near_wrap = false;
  std::uint32_t window_packets = 128;
  std::uint8_t max_reads_in_flight = 1;
  std::uint8_t ack_timeout = 14;
  Duration min_ack_timeout{};
  Duration ack_delay{};
  bool windows_are_2a = false;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 1;

  // The applications.
  std::uint32_t operations = 200;  ///< of all pairs and both directions
  std::uint32_t max_message_bytes = 0;
  std::array<std::uint32_t, kPlannedOperations> operation_weights{};  ///< by kPlannedOperationKinds
  double signaled = 1;
  double inlined = 0;
  double fenced = 0;
  double chained = 0;  ///< WRITEs to, and READs of, a place that an earlier WRITE on the queue pair wrote
  std::uint32_t send_depth = 64;
  std::uint32_t receive_depth = 64;
  std::uint32_t shared_receives =
      0;                           ///< in each host's shared receive queue; 0: every queue pair has its own
  std::uint32_t xrc_receives = 0;  ///< in each of a host's shared receive queues for XRC
  bool shared_unreliable = false;  ///< UC and UD receive into the shared queue too, if there is one
  double unreliable_errors = 0;    ///< part of the UC and UD sends that cannot be sent
  std::uint32_t drains =
      0;  ///< times the send queue of a connection is drained (SQD), and as often of UC and UD
  bool overruns = false;  ///< one more program, which lets its completion queue overrun
  bool one_cq = false;    ///< for all queues of a host
  Duration post_gap{};
  Duration receive_gap{};
  std::uint32_t deliberate_errors = 0;  ///< times a healthy connection is moved to ERR and connected again
  std::uint32_t deregistrations = 0;    ///< times memory is deregistered that may be in use
  double volatile_keys = 0;  ///< part of the WRITEs and READs that use a key which may be deregistered

  ConnectionOptions connections{};

  /// By host: how its connections slow down.
  std::vector<transport::congestion::Choice> congestion{};

  // The hosts.
  Duration round_cost{};  ///< time that one round of the engine takes
  Duration poll_delay{};  ///< until an idle host sees a frame
  double stall = 0;       ///< probability, per run of a host, of not running for up to stall_time
  Duration stall_time{};
  double port_full = 0;  ///< probability, per frame, of a port that takes no more for a while
  /// By host: the adversary that its NIC has, which does what the rules allow (nic/adversary/CHAOS.md).
  std::vector<std::optional<nic::AdversarySettings>> adversaries{};

  // The network.
  std::vector<LinkOptions> links{};  ///< by host
  std::vector<Partition> partitions{};
  std::vector<ExactLoss> exact_losses{};
  std::optional<network::Topology>
      topology{};  ///< between the wires of the hosts; without: one switch that only delays
  std::vector<std::uint8_t>
      traffic_classes{};       ///< by pair, the violator's last; other than 0 only with a topology
  double safety_fraction = 1;  ///< faults stop when that part of the operations has completed

  std::uint32_t all_pairs() const { return pairs + (violator ? 1 : 0); }
  /// Whether the pair's ends receive into shared queues; with XRC they always do.
  bool shares_receives(std::uint32_t pair) const {
    return is_xrc[pair] || (shared_receives > 0 && pair < pairs);
  }
  bool any_repeats_selectively() const { return std::ranges::count(repeats_selectively, true) > 0; }
  transport::Recovery recovery_of(std::uint32_t pair) const {
    return repeats_selectively[pair] ? transport::Recovery::kSelectiveRepeat : transport::Recovery::kGoBackN;
  }
  HostId host_of(std::uint32_t pair, Side side) const { return ends[pair][index(side)]; }
  bool has_adversary(HostId host) const {
    return index(host) < adversaries.size() && adversaries[index(host)].has_value();
  }
  /// Whether the bytes of a WRITE that was acknowledged may reach this host's memory later.
  bool places_late(HostId host) const;
  /// Nothing bad happens in this world, so nothing may be sent twice in it.
  bool is_peaceful() const;
  Duration effective_ack_timeout() const;
  Duration rnr_delay() const;
  /// How much later than its engine wants may a frame leave.
  Duration frame_lateness() const;
  /// A frame that was not delivered this long after it was sent will not be any more.
  Duration max_frame_age() const;
  /// So long after queue pairs went to ERR none of their frames is under way, and the program has seen all of
  /// their completions.
  Duration settling_time() const;
};

/// The delay an RNR NAK asks for with `code`, 0..31 (fact 35, typed in from there).
Duration rnr_timer(std::uint8_t code);

}  // namespace urnic::sim
