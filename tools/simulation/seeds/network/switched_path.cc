// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/switched_path.h"

#include <algorithm>
#include <utility>

#include "tools/simulation/kernel/addresses.h"
#include "tools/simulation/seeds/network/frame_label.h"
#include "tools/simulation/seeds/network/network.h"
#include "tools/simulation/seeds/network/sim_port.h"
#include "tools/simulation/seeds/scenario/random_topology.h"

namespace urnic::sim {
namespace {

/// Without FCS.
constexpr std::size_t kShortestFrame = 60;

network::HostId inside(HostId host) {
  return static_cast<network::HostId>(index(host));
}

}  // namespace

SwitchedPath::SwitchedPath(const Options& options, const kernel::Clock& clock, EventQueue& events)
    : clock_(clock),
      events_(events),
      direct_(options, events),
      watcher_(*options.topology),
      network_(*options.topology, options.seed, clock.now()),
      senders_(options.links.size()) {
  for (std::size_t host = 0; host < senders_.size(); ++host) {
    network_.attach(inside(host_id(host)), kernel::mac_of(host));
  }
  network_.set_observer(&watcher_);
}

void SwitchedPath::carry(Trip trip) {
  if (is_stopped()) return direct_.carry(std::move(trip));
  if (!trip.frame) return;
  Frame& frame = *trip.frame;
  if (frame.damaged && frame.bytes.size() < kShortestFrame) return watcher_.count_runt();
  Sender& sender = senders_[index(trip.from)];
  Time time = trip.time;
  if (trip.keeps_order) time = sender.last_entry = std::max(sender.last_entry, time);
  append(FrameLabel{.from = trip.from, .to = trip.to, .is_damaged = frame.damaged, .entry = time},
         frame.bytes);
  sender.bytes_entering += frame.bytes.size();
  events_.add({.time = time, .kind = Event::Kind::kEnter, .host = trip.from, .frame = std::move(frame)});
}

void SwitchedPath::enter(HostId from, Frame frame) {
  senders_[index(from)].bytes_entering -= frame.bytes.size();
  if (!is_stopped()) {
    network_.send(inside(from), frame.bytes, clock_.now());  // the watcher is told about a loss
    return;
  }
  const FrameLabel label = FrameLabel::at_end_of(frame.bytes);
  frame.bytes.resize(frame.bytes.size() - FrameLabel::kBytes);
  events_.add(
      {.time = clock_.now(), .kind = Event::Kind::kDeliver, .host = label.to, .frame = std::move(frame)});
}

Time SwitchedPath::next_event() const {
  const Time next = network_.next_event();
  return is_stopped() && next > stopped_at_ + kMaxTransit ? transport::kNever : next;
}

void SwitchedPath::run_until(Time now) {
  network_.run_until(now, *this);
}

bool SwitchedPath::has_room(HostId from) const {
  if (is_stopped()) return true;
  const std::uint64_t needed =
      senders_[index(from)].bytes_entering + SimPort::kMaxFrameBytes + FrameLabel::kBytes;
  for (unsigned priority = 0; priority < network::kPriorities; ++priority) {
    if (network_.room(inside(from), priority) < needed) return false;
  }
  return true;
}

void SwitchedPath::stop_faults() {
  if (!is_stopped()) stopped_at_ = clock_.now();
}

void SwitchedPath::deliver(network::HostId host, std::span<const std::byte> bytes, Time time) {
  const FrameLabel label = FrameLabel::at_end_of(bytes);
  if (inside(label.to) != host) return;
  if (time - label.entry > kMaxTransit) return watcher_.count_given_up();
  Frame frame(std::vector(bytes.begin(), bytes.end() - FrameLabel::kBytes));
  frame.damaged = label.is_damaged;
  events_.add({.time = time, .kind = Event::Kind::kDeliver, .host = label.to, .frame = std::move(frame)});
}

}  // namespace urnic::sim
