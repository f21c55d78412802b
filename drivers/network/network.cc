// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "drivers/network/pause_frame.h"

namespace urnic::network {
namespace {

std::size_t number(HostId host) {
  return static_cast<std::size_t>(host);
}

}  // namespace

Network::Network(Topology topology, std::uint64_t seed, Time start)
    : topology_(std::move(topology)),
      start_(start),
      routes_(topology_),
      link_is_up_(topology_.links.size(), true),
      host_ports_(topology_.hosts.size()) {
  assert(check(topology_));
  add_ports();
  std::vector<std::size_t> port_counts(topology_.switches.size());
  for (Port& each : ports_) {
    if (each.node.kind == Node::Kind::kSwitch) each.place = port_counts[each.node.index]++;
    if (each.node.kind == Node::Kind::kHost) host_ports_[each.node.index] = each.id;
  }
  for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
    const Profile& profile = topology_.profiles[topology_.switches[i].profile];
    Random random(spread(seed + 1) + i);
    const std::uint64_t salt = random.next();
    switches_.push_back({.buffer = SharedBuffer(profile, port_counts[i]), .random = random, .salt = salt});
  }
  routes_.compute(link_is_up_);
  add_outages();
}

void Network::add_ports() {
  ports_.reserve(topology_.links.size() * 2);
  for (std::size_t i = 0; i < topology_.links.size(); ++i) {
    const Link& link = topology_.links[i];
    for (std::size_t end = 0; end < 2; ++end) {
      const Node& own = link.ends[end];
      const Node& other = link.ends[1 - end];
      const Node& treats = own.kind == Node::Kind::kSwitch ? own : other;
      const bool has_switch = treats.kind == Node::Kind::kSwitch;
      const Profile& profile =
          has_switch ? topology_.profiles[topology_.switches[treats.index].profile] : neighborless_;
      Port& added = ports_.emplace_back(profile);
      added.id = port_id(static_cast<LinkId>(i), end);
      added.node = own;
      added.rate_bps = link.rate_bps;
      added.delay = to_ticks(link.delay);
      added.quantum = bit_ticks(kQuantumBits, link.rate_bps);
      added.stalled_since.fill(kNoTicks);
      for (unsigned priority = 0; priority < kPriorities; ++priority) {
        added.lossless = with(added.lossless, priority, profile.priorities[priority].lossless.has_value());
      }
    }
  }
}

void Network::add_outages() {
  for (std::size_t i = 0; i < topology_.links.size(); ++i) {
    const auto link = static_cast<std::uint32_t>(i);
    for (const Outage& outage : topology_.links[i].outages) {
      events_.add({.time = to_ticks(outage.down), .kind = Event::Kind::kLinkDown, .target = link});
      if (outage.up) {
        events_.add({.time = to_ticks(*outage.up), .kind = Event::Kind::kLinkUp, .target = link});
      }
    }
  }
}

void Network::attach(HostId host, const transport::wire::Mac& mac) {
  assert(number(host) < topology_.hosts.size());
  hosts_by_mac_[number_of(mac)] = host;
}

Network::SendResult Network::send(HostId host, std::span<const std::byte> frame, Time now) {
  advance_to(now);
  if (frame.size() > kMaxFrameBytes) return SendResult::kMalformed;
  const auto fields = read_fields(frame);
  if (!fields) return SendResult::kMalformed;

  Port& nic = port(port_of(host));
  const unsigned priority = nic.profile->dscp_to_priority[fields->dscp];
  if (!nic.is_up) {
    count_drop(nic, priority, DropReason::kLinkDown, frame);
    return SendResult::kLinkDown;
  }
  if (room(host, priority) < frame.size()) {
    count_drop(nic, priority, DropReason::kTailDrop, frame);
    return SendResult::kNoRoom;
  }
  Frame* const taken = frames_.take(frame, *fields);
  const auto known = fields->is_group ? hosts_by_mac_.end() : hosts_by_mac_.find(fields->destination);
  if (known != hosts_by_mac_.end()) taken->host = known->second;
  queue(nic, priority, {.frame = taken});
  kick(nic);
  return SendResult::kQueued;
}

Time Network::next_event() const {
  return events_.is_empty() ? transport::kNever : start_ + to_duration(events_.next_time());
}

void Network::run_until(Time now, Sink& sink) {
  assert(sink_ == nullptr);
  sink_ = &sink;
  const Ticks first = to_ticks(now - start_);
  const Ticks last = first == kNoTicks ? kNoTicks : first + kTicksPerNanosecond - 1;
  while (!events_.is_empty() && events_.next_time() <= last) {
    const Event event = events_.take();
    now_ = event.time;
    handle(event);
  }
  sink_ = nullptr;
  if (first != kNoTicks) now_ = std::max(now_, first);
}

/// From inside a Sink the nanosecond that it was told has begun already.
void Network::advance_to(Time now) {
  assert(now >= time() && next_event() >= now);
  now_ = std::max(now_, to_ticks(now - start_));
}

void Network::handle(const Event& event) {
  const auto link = static_cast<LinkId>(event.target);
  if (event.kind == Event::Kind::kLinkDown) return change_link(link, false);
  if (event.kind == Event::Kind::kLinkUp) return change_link(link, true);

  Port& at = port(static_cast<PortId>(event.target));
  if (event.generation != at.generation) return;
  switch (event.kind) {
    case Event::Kind::kSend:
      at.is_waking = false;
      return kick(at);
    case Event::Kind::kArrive:
      return arrive(at);
    case Event::Kind::kArriveLate:
      return arrive_late(at);
    case Event::Kind::kPauseEnd:
      if (at.queues.is_paused(event.priority) && at.paused_until[event.priority] <= now_) {
        resume(at, event.priority);
      }
      return;
    case Event::Kind::kPauseRefresh:
      return refresh_pause(at, event.priority);
    case Event::Kind::kWatchdog:
      return look_at_stall(at, event.priority);
    case Event::Kind::kWatchdogRestore:
      at.discarded = with(at.discarded, event.priority, false);
      return;
    case Event::Kind::kLinkDown:
    case Event::Kind::kLinkUp:
      return;
  }
}

unsigned Network::priority_of(HostId host, std::span<const std::byte> frame) const {
  const auto fields = read_fields(frame);
  return fields ? port(port_of(host)).profile->dscp_to_priority[fields->dscp] : 0;
}

std::uint64_t Network::room(HostId host, unsigned priority) const {
  const std::uint64_t limit = topology_.hosts[number(host)].queue_bytes;
  const std::uint64_t waiting = port(port_of(host)).queues.bytes(priority);
  return waiting < limit ? limit - waiting : 0;
}

bool Network::is_paused(HostId host, unsigned priority) const {
  return port(port_of(host)).queues.is_paused(priority);
}

void Network::set_receive_pause(HostId host, unsigned priority, bool is_paused, Time now) {
  advance_to(now);
  Port& nic = port(port_of(host));
  if (!nic.is_up || !contains(nic.lossless, priority)) return;
  if (contains(nic.xoff, priority) != is_paused) set_xoff(nic, priority, is_paused);
}

void Network::set_link(LinkId link, bool is_up, Time now) {
  advance_to(now);
  change_link(link, is_up);
}

PortCounters Network::counters(PortId id) const {
  const Port& at = port(id);
  PortCounters counters = at.counters;
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    if (!at.queues.is_paused(priority)) continue;
    counters[priority].paused_time += to_duration(now_ - at.paused_since[priority]);
  }
  return counters;
}

PriorityCounters Network::total(unsigned priority) const {
  PriorityCounters sum;
  for (const Port& each : ports_) {
    const PriorityCounters own = counters(each.id)[priority];
    sum.sent_frames += own.sent_frames;
    sum.sent_bytes += own.sent_bytes;
    sum.received_frames += own.received_frames;
    sum.received_bytes += own.received_bytes;
    sum.marked_frames += own.marked_frames;
    for (std::size_t i = 0; i < kDropReasons; ++i) sum.dropped_frames[i] += own.dropped_frames[i];
    sum.pauses_sent += own.pauses_sent;
    sum.pauses_received += own.pauses_received;
    sum.paused_time += own.paused_time;
    sum.watchdog_fired += own.watchdog_fired;
    sum.highest_queue_bytes = std::max(sum.highest_queue_bytes, own.highest_queue_bytes);
  }
  return sum;
}

std::uint64_t Network::queue_bytes(PortId id, unsigned priority) const {
  return port(id).queues.bytes(priority);
}

std::string Network::name_of(PortId id) const {
  const Link& link = topology_.links[static_cast<std::size_t>(link_of(id))];
  const std::size_t end = end_of(id);
  return fmt::format("{}->{}", topology_.name_of(link.ends[end]), topology_.name_of(link.ends[1 - end]));
}

}  // namespace urnic::network
