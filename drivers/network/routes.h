// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Routes: where each switch sends what it gets, recomputed when a link goes down or up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/network/topology.h"

namespace urnic::network {

/// One end of a link. The ends of link N are the ports 2N and 2N + 1.
enum class PortId : std::uint32_t {};

constexpr PortId port_id(LinkId link, std::size_t end) {
  return static_cast<PortId>(static_cast<std::uint32_t>(link) * 2 + static_cast<std::uint32_t>(end));
}
constexpr LinkId link_of(PortId port) {
  return static_cast<LinkId>(static_cast<std::uint32_t>(port) / 2);
}
constexpr std::size_t end_of(PortId port) {
  return static_cast<std::uint32_t>(port) % 2;
}
/// The other end of the link.
constexpr PortId peer_of(PortId port) {
  return static_cast<PortId>(static_cast<std::uint32_t>(port) ^ 1u);
}

/// Shortest paths, by the number of links, over those that are up; and a tree of links for what goes to all.
class Routes {
 public:
  /// `topology` outlives it, and has passed check(). compute() comes before any question.
  explicit Routes(const Topology& topology);

  /// `is_up[N]` says whether link N is. Lists of ports are in the order of the links.
  void compute(const std::vector<bool>& is_up);

  /// The ports of a switch that lie on shortest paths to a host: equally good ones. Empty: there is no way.
  /// The link of the host itself counts as up.
  std::span<const PortId> ways(std::size_t from_switch, HostId to) const;

  /// The ports of a switch for frames to all: the ports of the tree, and the hosts' ports. A frame goes out
  /// at all of them except the port at which it came in.
  std::span<const PortId> flood_ports(std::size_t at_switch) const { return flood_ports_[at_switch]; }
  /// The number of the present tree: each compute() makes another one. A frame that follows one and then
  /// another may reach a host twice.
  std::uint32_t tree() const { return tree_; }

 private:
  struct Neighbor {
    PortId port;        // of ours
    std::size_t index;  // of the switch at its other end
  };
  /// Part of ways_.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void measure_distances(std::size_t from, const std::vector<bool>& is_up);
  void compute_ways(const std::vector<bool>& is_up);
  void compute_tree(const std::vector<bool>& is_up);
  bool is_usable(const Neighbor& neighbor, const std::vector<bool>& is_up) const;

  const Topology& topology_;
  std::vector<std::vector<Neighbor>> neighbors_;  // of each switch, without hosts
  std::vector<PortId> host_ports_;                // at the other end of each host's link
  std::vector<std::size_t> host_switches_;        // kNone: it is linked to a host
  std::vector<Range> ranges_;                     // [from * switches + to]
  std::vector<PortId> ways_;
  std::vector<std::vector<PortId>> flood_ports_;
  std::uint32_t tree_ = 0;
  std::vector<std::size_t> distances_;
  std::vector<std::size_t> queue_;  // of the breadth-first searches
};

}  // namespace urnic::network
