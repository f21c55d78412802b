// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/path_counts.h"

#include "tools/simulation/seeds/network/frame_label.h"

namespace urnic::sim {
namespace {

bool is_for_a_group(std::span<const std::byte> frame) {
  return (frame[0] & std::byte{1}) != std::byte{0};
}

}  // namespace

PathWatcher::PathWatcher(const network::Topology& topology) : topology_(topology) {}

const network::Node& PathWatcher::node_of(network::PortId port) const {
  return topology_.links[static_cast<std::size_t>(network::link_of(port))].ends[network::end_of(port)];
}

/// Pause frames, which are for a group and have no label, and floods say nothing about ways.
void PathWatcher::on_send(network::PortId port, std::span<const std::byte> frame, transport::Time) {
  const network::Node& node = node_of(port);
  if (node.kind == network::Node::Kind::kHost || is_for_a_group(frame)) return;
  const FrameLabel label = FrameLabel::at_end_of(frame);
  if (label.is_damaged) return;
  const std::uint64_t key = (node.index * kMaxHosts + index(label.from)) * kMaxHosts + index(label.to);
  const auto [first, is_new] = first_ways_.try_emplace(key, port);
  if (!is_new && first->second != port) ++counts_.other_ways;
}

void PathWatcher::on_pause(network::PortId port, unsigned, bool is_paused, transport::Time) {
  if (!is_paused) return;
  ++counts_.pauses;
  if (node_of(port).kind == network::Node::Kind::kHost) ++counts_.nic_pauses;
}

}  // namespace urnic::sim
