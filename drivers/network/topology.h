// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Topology: hosts, switches, links, and how the switches treat their queues. Plain values; topology_file.h
// reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/result.h"
#include "transport/time.h"

namespace urnic::network {

using transport::Duration;
using transport::Time;

/// Priorities of IEEE 802.1Q, each with a queue at every port. 7 is the most urgent one.
inline constexpr std::size_t kPriorities = 8;
/// Values of the six bits of a DSCP.
inline constexpr std::size_t kDscps = 64;

/// Place of a host in Topology::hosts.
enum class HostId : std::uint32_t {};
/// Place of a link in Topology::links.
enum class LinkId : std::uint32_t {};

/// When a queue marks ECN: never while kmin_bytes or less wait, always when more than kmax_bytes do, and
/// between them with a probability that grows linearly up to pmax (fact A3, ShouldSendCN of HPCC's
/// switch-mmu.cc).
struct Marking {
  /// What happens to a frame that would be marked and whose IP header does not say ECT.
  enum class NotEct : std::uint8_t { kPass, kDrop };

  std::uint64_t kmin_bytes = 0;
  std::uint64_t kmax_bytes = 0;
  double pmax = 0;  ///< 0 to 1
  NotEct not_ect = NotEct::kPass;
};

/// A priority that loses nothing, because the switch pauses who sends to it (IEEE 802.1Qbb, fact A3).
struct Lossless {
  /// XOFF when an ingress port holds so many bytes of the shared buffer; without: xoff_alpha times what is
  /// free of it.
  std::optional<std::uint64_t> xoff_bytes{};
  double xoff_alpha = 0.125;
  std::uint64_t xon_offset_bytes = 3 * 1024;  ///< XON when so much less than the XOFF threshold is held
  std::uint64_t headroom_bytes = 0;  ///< per ingress port: for what arrives between XOFF and its effect
  Duration watchdog{};          ///< a queue that is paused and sends nothing for so long is emptied; 0: never
  Duration watchdog_restore{};  ///< how long such a queue takes nothing; 0: as long as `watchdog`
};

/// How one priority is queued at each port of a switch.
struct PriorityProfile {
  std::uint64_t limit_bytes =
      1024 * 1024;  ///< drop-tail: a queue holds at most so much. Lossless ones have no limit
  std::optional<Marking> marking{};
  std::optional<Lossless> lossless{};
  /// Share in deficit round robin of what the strict priorities leave; 0: strict, and the higher number
  /// first.
  unsigned weight = 0;
};

/// DSCP 3 and 26 go to priority 3, 4 to 4, 48 to 6, all others to 0: SONiC's defaults for the lossless
/// classes and for 48, and NVIDIA's lab convention of 26 for data (fact A3).
std::array<std::uint8_t, kDscps> default_dscp_map();

/// How a switch treats frames. A host that is linked to it classifies and schedules what it sends in the same
/// way.
struct Profile {
  std::string name;
  std::uint64_t buffer_bytes = 32 * 1024 * 1024;  ///< of the whole switch; the headrooms are taken from it
  std::uint16_t pause_quanta = 0xffff;            ///< of 512 bit times each, in an XOFF
  std::array<PriorityProfile, kPriorities> priorities{};
  std::array<std::uint8_t, kDscps> dscp_to_priority = default_dscp_map();
};

struct Host {
  std::string name;
  std::uint64_t queue_bytes = 64 * 1024;  ///< what its NIC's port holds of each priority
};

struct Switch {
  std::string name;
  std::size_t profile = 0;  ///< in Topology::profiles
};

/// A host or a switch.
struct Node {
  enum class Kind : std::uint8_t { kHost, kSwitch };

  Kind kind = Kind::kHost;
  std::size_t index = 0;  ///< in Topology::hosts or Topology::switches

  friend constexpr bool operator==(const Node&, const Node&) = default;
};

/// A time in which a link carries nothing, from the beginning of the run.
struct Outage {
  Duration down{};
  std::optional<Duration> up{};  ///< without: never
};

/// Carries frames in both directions at once.
struct Link {
  std::array<Node, 2> ends{};
  std::uint64_t rate_bps = 0;  ///< bits per second of what Ethernet puts on the wire
  Duration delay{};            ///< of propagation, one way
  std::vector<Outage> outages{};
  std::string faults{};  ///< what hurts its frames, as after --fault (drivers/fault reads it); none: empty
};

struct Topology {
  static constexpr std::size_t kMaxHosts = 1024;
  static constexpr std::size_t kMaxSwitches = 256;
  static constexpr std::size_t kMaxLinks = 8192;
  static constexpr std::size_t kMaxProfiles = 64;
  static constexpr std::size_t kMaxOutages = 1024;  // of one link

  std::string name;
  std::vector<Profile> profiles;
  std::vector<Switch> switches;
  std::vector<Host> hosts;
  std::vector<Link> links;

  const std::string& name_of(const Node& node) const {
    return node.kind == Node::Kind::kHost ? hosts[node.index].name : switches[node.index].name;
  }
};

/// Whether a Network can be made of it. The error (EINVAL) says what is wrong, where ("links[3].rate"), and
/// what to do: numbers out of range, names that are used twice, hosts with other than one link, nodes that no
/// link reaches, headrooms that the buffer does not hold.
Result<void, Error> check(const Topology& topology);

/// The part of it that is about names, which a reader needs before it reads what refers to them.
Result<void, Error> check_names(const Topology& topology);

}  // namespace urnic::network
