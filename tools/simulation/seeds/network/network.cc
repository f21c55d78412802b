// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/network.h"

#include <algorithm>
#include <utility>

#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/seeds/core/management_view.h"
#include "tools/simulation/seeds/core/wire_view.h"
#include "tools/simulation/seeds/network/direct_path.h"
#include "tools/simulation/seeds/network/frame_faults.h"
#include "tools/simulation/seeds/network/switched_path.h"

namespace urnic::sim {

Network::Network(const Options& options, const kernel::Clock& clock, EventQueue& events)
    : options_(options), clock_(clock) {
  for (std::size_t host = 0; host < options.links.size(); ++host) {
    links_.push_back({.options = options.links[host],
                      .random = Random(options.seed * kMaxHosts + host, Stream::kNetwork),
                      .seen = std::vector<std::uint64_t>(kPacketKinds)});
  }
  if (options.topology) {
    auto switched = std::make_unique<SwitchedPath>(options, clock, events);
    switched_ = switched.get();
    path_ = std::move(switched);
  } else {
    path_ = std::make_unique<DirectPath>(options, events);
  }
}

Network::~Network() = default;

void Network::stop_faults() {
  faults_on_ = false;
  path_->stop_faults();
}

const PathCounts* Network::path_counts() const {
  return switched_ == nullptr ? nullptr : &switched_->counts();
}

void Network::send(HostId from, std::span<const std::byte> bytes) {
  Link& link = links_[index(from)];
  if (faults_on_ && link.random.chance(link.options.faults.pause) && link.free_at <= clock_.now()) {
    ++counts_.paused;
    link.free_at = clock_.now() + link.random.between(Duration(0), link.options.pause_time);
  }
  link.free_at = std::max(link.free_at, clock_.now()) + time_on(link.options, bytes.size());
  for (std::size_t host = 0; host < links_.size(); ++host) {
    const auto mac = kernel::mac_of(host).octets;
    const bool is_for_host =
        std::equal(mac.begin(), mac.end(), bytes.begin(),
                   [](std::uint8_t octet, std::byte byte) { return std::byte{octet} == byte; });
    if (is_for_host) return send_to(from, host_id(host), bytes);
  }
  for (std::size_t host = 0; host < links_.size(); ++host) {
    if (host != index(from)) send_to(from, host_id(host), bytes);
  }
}

void Network::send_to(HostId from, HostId to, std::span<const std::byte> bytes) {
  Link& link = links_[index(from)];
  if (faults_on_ && is_lost(from, to, link, bytes)) return;
  if (faults_on_ && options_.connections.attempts > 0 && is_management(bytes)) {
    return send_management(from, to, link, bytes);
  }
  deliver(from, to, bytes);
  if (faults_on_ && link.random.chance(link.options.faults.duplication)) {
    ++counts_.duplicated;
    // Some come right after the first, others when neither side expects them any more.
    const Duration late = link.random.chance(0.5) ? link.options.reorder_delay : Duration(1);
    deliver(from, to, bytes, link.random.between(Duration(1), late));
  }
}

/// What happens to a message of the connection manager that the faults for any frame have spared.
void Network::send_management(HostId from, HostId to, Link& link, std::span<const std::byte> bytes) {
  const ConnectionOptions& connections = options_.connections;
  if (is_cut(connections.cuts, from, to) || link.random.chance(connections.loss)) {
    ++counts_.management_lost;
    return;
  }
  const auto draw_delay = [&] { return link.random.between(Duration(1), connections.delay); };
  deliver(from, to, bytes, link.random.chance(connections.lateness) ? draw_delay() : Duration(0));
  if (link.random.chance(connections.duplication)) deliver(from, to, bytes, draw_delay());
}

// ---------------------------------------------------------------------------------------------------------
// Loss

bool Network::is_lost(HostId from, HostId to, Link& link, std::span<const std::byte> bytes) {
  if (is_lost_exactly(from, link, bytes)) {
    ++counts_.lost_exactly;
    return true;
  }
  if (is_cut(options_.partitions, from, to)) {
    ++counts_.lost_in_partition;
    return true;
  }
  return is_lost_at_random(link);
}

bool Network::is_lost_at_random(Link& link) {
  const FaultRates& faults = link.options.faults;
  if (link.random.chance(faults.blackout)) {
    link.blackout_until = link.free_at + link.random.between(Duration(0), link.options.blackout_time);
  }
  if (link.free_at < link.blackout_until) {
    ++counts_.lost_in_blackout;
    return true;
  }
  if (link.burst_left == 0 && link.random.chance(faults.burst)) link.burst_left = link.random.between(2, 20);
  if (link.burst_left > 0) {
    --link.burst_left;
    ++counts_.lost_in_burst;
    return true;
  }
  if (link.random.chance(faults.loss)) {
    ++counts_.lost;
    return true;
  }
  return false;
}

bool Network::is_cut(const std::vector<Partition>& partitions, HostId from, HostId to) const {
  const Time now = clock_.now();
  return std::ranges::any_of(partitions, [&](const Partition& partition) {
    return partition.from == from && partition.to == to && now >= partition.begin && now < partition.end;
  });
}

/// The n-th packet of a kind that a host sends.
bool Network::is_lost_exactly(HostId from, Link& link, std::span<const std::byte> bytes) {
  if (options_.exact_losses.empty() || !is_roce(bytes)) return false;
  const auto packet = read_frame(bytes);
  if (!packet) return false;
  const std::uint64_t n = ++link.seen[static_cast<std::size_t>(packet->kind)];
  return std::ranges::any_of(options_.exact_losses, [&](const ExactLoss& loss) {
    return loss.from == from && loss.kind == packet->kind && n >= loss.first && n < loss.first + loss.count;
  });
}

// ---------------------------------------------------------------------------------------------------------
// Delivery

void Network::deliver(HostId from, HostId to, std::span<const std::byte> bytes, Duration late) {
  Link& link = links_[index(from)];
  const FaultRates& faults = link.options.faults;
  if (late == Duration(0) && faults_on_ && link.random.chance(faults.reordering)) {
    ++counts_.reordered;
    late = link.random.between(Duration(1), link.options.reorder_delay);
  }
  const Time time =
      link.free_at + link.options.base_delay + link.random.between(Duration(0), link.options.jitter) + late;

  std::optional<Frame> frame(std::vector(bytes.begin(), bytes.end()));
  if (faults_on_ && !damage(*frame, link)) {
    ++counts_.lost;
    frame.reset();
  }
  path_->carry({.from = from,
                .to = to,
                .time = time,
                .keeps_order = late == Duration(0),
                .bytes = bytes.size(),
                .frame = std::move(frame)});
}

/// False when the frame must not arrive at all.
bool Network::damage(Frame& frame, Link& link) {
  const FaultRates& faults = link.options.faults;
  Random& random = link.random;
  if (!bth_offset(frame.bytes)) return !random.chance(faults.corruption + faults.truncation);
  if (random.chance(faults.congestion)) {
    ++counts_.congestion_marked;
    mark_congestion(frame);
  }
  if (random.chance(faults.corruption)) {
    ++counts_.corrupted;
    corrupt(frame, random);
  } else if (random.chance(faults.truncation)) {
    ++counts_.truncated;
    truncate(frame, random);
  } else if (random.chance(faults.padding)) {
    ++counts_.padded;
    pad(frame, random);
  }
  return true;
}

}  // namespace urnic::sim
