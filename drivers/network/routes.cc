// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/routes.h"

#include <algorithm>
#include <limits>

namespace urnic::network {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::size_t index_of(HostId host) {
  return static_cast<std::size_t>(host);
}

}  // namespace

Routes::Routes(const Topology& topology)
    : topology_(topology),
      neighbors_(topology.switches.size()),
      host_ports_(topology.hosts.size()),
      host_switches_(topology.hosts.size(), kNone),
      ranges_(topology.switches.size() * topology.switches.size()),
      flood_ports_(topology.switches.size()),
      distances_(topology.switches.size()) {
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    for (std::size_t end = 0; end < 2; ++end) {
      const Node& own = topology.links[i].ends[end];
      const Node& other = topology.links[i].ends[1 - end];
      const PortId port = port_id(static_cast<LinkId>(i), end);
      if (own.kind == Node::Kind::kHost) {
        host_ports_[own.index] = peer_of(port);
        if (other.kind == Node::Kind::kSwitch) host_switches_[own.index] = other.index;
      } else if (other.kind == Node::Kind::kSwitch) {
        neighbors_[own.index].push_back({.port = port, .index = other.index});
      }
    }
  }
}

void Routes::compute(const std::vector<bool>& is_up) {
  compute_ways(is_up);
  compute_tree(is_up);
}

std::span<const PortId> Routes::ways(std::size_t from_switch, HostId to) const {
  const std::size_t last = host_switches_[index_of(to)];
  if (last == kNone) return {};
  if (last == from_switch) return {&host_ports_[index_of(to)], 1};
  const Range& range = ranges_[from_switch * topology_.switches.size() + last];
  return std::span(ways_).subspan(range.first, range.count);
}

bool Routes::is_usable(const Neighbor& neighbor, const std::vector<bool>& is_up) const {
  return is_up[static_cast<std::size_t>(link_of(neighbor.port))];
}

void Routes::measure_distances(std::size_t from, const std::vector<bool>& is_up) {
  std::fill(distances_.begin(), distances_.end(), kNone);
  distances_[from] = 0;
  queue_.assign(1, from);
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const std::size_t at = queue_[next];
    for (const Neighbor& neighbor : neighbors_[at]) {
      if (!is_usable(neighbor, is_up) || distances_[neighbor.index] != kNone) continue;
      distances_[neighbor.index] = distances_[at] + 1;
      queue_.push_back(neighbor.index);
    }
  }
}

void Routes::compute_ways(const std::vector<bool>& is_up) {
  const std::size_t switches = topology_.switches.size();
  ways_.clear();
  for (std::size_t to = 0; to < switches; ++to) {
    measure_distances(to, is_up);
    for (std::size_t from = 0; from < switches; ++from) {
      Range& range = ranges_[from * switches + to];
      range = {.first = static_cast<std::uint32_t>(ways_.size()), .count = 0};
      if (from == to || distances_[from] == kNone) continue;
      for (const Neighbor& neighbor : neighbors_[from]) {
        if (!is_usable(neighbor, is_up) || distances_[neighbor.index] + 1 != distances_[from]) continue;
        ways_.push_back(neighbor.port);
        ++range.count;
      }
    }
  }
}

/// A tree for each part of the network that is connected, from its first switch on.
void Routes::compute_tree(const std::vector<bool>& is_up) {
  const std::size_t switches = topology_.switches.size();
  ++tree_;
  for (auto& ports : flood_ports_) ports.clear();
  std::vector<bool> is_in_tree(switches);
  for (std::size_t root = 0; root < switches; ++root) {
    if (is_in_tree[root]) continue;
    is_in_tree[root] = true;
    queue_.assign(1, root);
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      for (const Neighbor& neighbor : neighbors_[queue_[next]]) {
        if (!is_usable(neighbor, is_up) || is_in_tree[neighbor.index]) continue;
        is_in_tree[neighbor.index] = true;
        flood_ports_[queue_[next]].push_back(neighbor.port);
        flood_ports_[neighbor.index].push_back(peer_of(neighbor.port));
        queue_.push_back(neighbor.index);
      }
    }
  }
  for (std::size_t host = 0; host < host_switches_.size(); ++host) {
    const bool is_linked = is_up[static_cast<std::size_t>(link_of(host_ports_[host]))];
    if (host_switches_[host] != kNone && is_linked) {
      flood_ports_[host_switches_[host]].push_back(host_ports_[host]);
    }
  }
  for (auto& ports : flood_ports_) std::sort(ports.begin(), ports.end());
}

}  // namespace urnic::network
