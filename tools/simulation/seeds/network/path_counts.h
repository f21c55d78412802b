// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PathCounts: what a network of switches did to the frames of a world.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "drivers/network/observer.h"

namespace urnic::sim {

struct PathCounts {
  std::array<std::uint64_t, network::kDropReasons> dropped{};
  std::uint64_t marked = 0;
  std::uint64_t pauses = 0;      ///< of a priority of a port
  std::uint64_t nic_pauses = 0;  ///< the ones that hosts sent
  std::uint64_t watchdogs = 0;
  std::uint64_t links_cut = 0;
  std::uint64_t other_ways =
      0;  ///< frames that left a switch by another port than the first between their hosts
  std::uint64_t given_up = 0;  ///< frames that came out too late
  std::uint64_t runts = 0;

  std::uint64_t drops(network::DropReason reason) const { return dropped[static_cast<std::size_t>(reason)]; }
};

/// Frames have labels at their end.
class PathWatcher final : public network::Observer {
 public:
  explicit PathWatcher(const network::Topology& topology);

  void count_given_up() { ++counts_.given_up; }
  void count_runt() { ++counts_.runts; }
  const PathCounts& counts() const { return counts_; }

  void on_send(network::PortId port, std::span<const std::byte> frame, transport::Time time) override;
  void on_mark(network::PortId, unsigned, std::span<const std::byte>, transport::Time) override {
    ++counts_.marked;
  }
  void on_drop(network::PortId, unsigned, network::DropReason reason, std::span<const std::byte>,
               transport::Time) override {
    ++counts_.dropped[static_cast<std::size_t>(reason)];
  }
  void on_pause(network::PortId port, unsigned priority, bool is_paused, transport::Time time) override;
  void on_watchdog(network::PortId, unsigned, transport::Time) override { ++counts_.watchdogs; }
  void on_link(network::LinkId, bool is_up, transport::Time) override { counts_.links_cut += is_up ? 0 : 1; }

 private:
  const network::Node& node_of(network::PortId port) const;

  const network::Topology& topology_;
  PathCounts counts_;
  std::unordered_map<std::uint64_t, network::PortId> first_ways_;  // by switch and hosts
};

}  // namespace urnic::sim
