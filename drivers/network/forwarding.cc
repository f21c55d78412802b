// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The way of a frame through the network: from a queue onto a link, off it, and into the next queue.
#include <algorithm>
#include <cassert>

#include "drivers/network/marking.h"
#include "drivers/network/network.h"

namespace urnic::network {

/// Sends what waits, now or as soon as the port is free.
void Network::kick(Port& at) {
  if (!at.is_up || at.is_waking || !at.has_something_to_send()) return;
  if (at.busy_until <= now_) return send_next(at);
  at.is_waking = true;
  add_event(Event::Kind::kSend, at, 0, at.busy_until);
}

void Network::send_next(Port& at) {
  if (at.pause_due != 0) {
    send_pause_frame(at);
    return kick(at);
  }
  const auto chosen = at.queues.take();
  assert(chosen);
  const unsigned priority = chosen->priority;
  Frame* const frame = chosen->queued.frame;
  PriorityCounters& counters = at.counters[priority];
  ++counters.sent_frames;
  counters.sent_bytes += frame->size;
  put_on_wire(at, frame, priority);
  kick(at);

  // Now that the port is in order: others may go on, and a host that waits for room.
  if (observer_ != nullptr) observer_->on_queue(at.id, priority, at.queues.bytes(priority), time());
  free_buffer(at, priority, chosen->queued);
  if (at.node.kind == Node::Kind::kHost && sink_ != nullptr) {
    sink_->on_room(static_cast<HostId>(at.node.index), priority, time());
  }
}

void Network::put_on_wire(Port& at, Frame* frame, unsigned priority) {
  if (observer_ != nullptr) observer_->on_send(at.id, frame->bytes(), time());
  at.busy_until = now_ + bit_ticks(wire_bytes(frame->size) * 8, at.rate_bps);
  if (at.has_faults && !frame->fields.is_mac_control) return travel_faulty(at, frame, priority);
  travel(at, frame, priority);
}

void Network::travel(Port& at, Frame* frame, unsigned priority) {
  at.wire.push({.arrival = at.busy_until + at.delay, .frame = frame, .priority = priority});
  // Frames arrive in the order in which they were sent: an event for the first one is enough.
  if (at.wire.size() == 1) add_event(Event::Kind::kArrive, at, 0, at.wire.front().arrival);
}

void Network::arrive(Port& from) {
  const Port::InFlight arrived = from.wire.pop();
  if (!from.wire.is_empty()) add_event(Event::Kind::kArrive, from, 0, from.wire.front().arrival);

  reach_other_end(from, arrived.frame);
}

void Network::reach_other_end(Port& from, Frame* frame) {
  Port& at = port(peer_of(from.id));
  if (frame->fields.is_mac_control) {
    obey(at, frame->bytes());
    return frames_.release(frame);
  }
  PriorityCounters& counters = at.counters[at.profile->dscp_to_priority[frame->fields.dscp]];
  ++counters.received_frames;
  counters.received_bytes += frame->size;
  if (at.node.kind == Node::Kind::kSwitch) return forward(at, frame);
  sink_->deliver(static_cast<HostId>(at.node.index), frame->bytes(), time());
  frames_.release(frame);
}

void Network::forward(Port& ingress, Frame* frame) {
  const unsigned priority = ingress.profile->dscp_to_priority[frame->fields.dscp];
  if (frame->fields.is_link_local) return drop(ingress, priority, DropReason::kNotForwarded, frame);
  if (!frame->host) {
    const bool is_from_host = port(peer_of(ingress.id)).node.kind == Node::Kind::kHost;
    if (is_from_host) {
      frame = frames_.make_own(frame);  // a fault of the host's link may have doubled it
      frame->tree = routes_.tree();
    }
    if (frame->tree != routes_.tree()) return drop(ingress, priority, DropReason::kNotForwarded, frame);
  }
  const std::span<const PortId> ways = ways_of(ingress, *frame);
  if (ways.empty()) return drop(ingress, priority, DropReason::kNoWay, frame);
  if (ways.size() == 1) {
    if (ways[0] == ingress.id) return drop(ingress, priority, DropReason::kNotForwarded, frame);
    return enqueue(port(ways[0]), ingress, frame);
  }
  // One reference for each copy, and one for this loop.
  for (const PortId way : ways) {
    if (way == ingress.id) continue;
    ++frame->references;
    enqueue(port(way), ingress, frame);
  }
  frames_.release(frame);
}

/// The one port for a host that is known, chosen by the flow among equally good ones; all ports of the tree
/// otherwise.
std::span<const PortId> Network::ways_of(const Port& ingress, const Frame& frame) {
  const std::size_t at = ingress.node.index;
  if (!frame.host) return routes_.flood_ports(at);
  const std::span<const PortId> ways = routes_.ways(at, *frame.host);
  if (ways.size() <= 1) return ways;
  const std::uint64_t hash = spread(frame.fields.flow ^ switches_[at].salt);
  return ways.subspan(hash % ways.size(), 1);
}

void Network::enqueue(Port& egress, Port& ingress, Frame* frame) {
  const unsigned priority = egress.profile->dscp_to_priority[frame->fields.dscp];
  SwitchState& at = switches_[egress.node.index];
  const auto& marking = egress.profile->priorities[priority].marking;
  const bool is_marked = marking && is_to_be_marked(*marking, egress.queues.bytes(priority), at.random);
  if (const auto reason = refusal(egress, ingress, priority, *frame, is_marked)) {
    return drop(egress, priority, *reason, frame);
  }
  const Ecn ecn = frame->fields.ecn;
  if (is_marked && (ecn == Ecn::kEct0 || ecn == Ecn::kEct1)) {
    frame = frames_.make_own(frame);
    mark_congestion(frame->bytes(), frame->fields);
    ++egress.counters[priority].marked_frames;
    if (observer_ != nullptr) observer_->on_mark(egress.id, priority, frame->bytes(), time());
  }
  queue(egress, priority, {.frame = frame, .ingress = static_cast<std::uint32_t>(ingress.id)});
  kick(egress);
  if (!contains(ingress.lossless, priority) || contains(ingress.xoff, priority)) return;
  if (at.buffer.is_above_xoff(ingress.place, priority)) set_xoff(ingress, priority, true);
}

/// Why a switch cannot queue the frame; takes room in its buffer otherwise.
std::optional<DropReason> Network::refusal(const Port& egress, const Port& ingress, unsigned priority,
                                           const Frame& frame, bool is_to_be_marked) {
  if (!egress.is_up) return DropReason::kLinkDown;
  if (contains(egress.discarded, priority)) return DropReason::kWatchdog;
  const PriorityProfile& settings = egress.profile->priorities[priority];
  if (!settings.lossless && egress.queues.bytes(priority) + frame.size > settings.limit_bytes) {
    return DropReason::kTailDrop;
  }
  if (is_to_be_marked && frame.fields.ecn == Ecn::kNotEct &&
      settings.marking->not_ect == Marking::NotEct::kDrop) {
    return DropReason::kNotEct;
  }
  if (switches_[egress.node.index].buffer.admit(ingress.place, priority, frame.size)) return std::nullopt;
  return settings.lossless ? DropReason::kHeadroomFull : DropReason::kBufferFull;
}

void Network::queue(Port& egress, unsigned priority, const EgressQueues::Queued& queued) {
  egress.queues.push(priority, queued);
  const std::uint64_t bytes = egress.queues.bytes(priority);
  std::uint64_t& highest = egress.counters[priority].highest_queue_bytes;
  highest = std::max(highest, bytes);
  if (observer_ != nullptr) observer_->on_queue(egress.id, priority, bytes, time());
  watch(egress, priority);
}

/// A frame has left the queue of a switch; perhaps the port that it came in at needs no pause any more.
void Network::free_buffer(const Port& egress, unsigned priority, const EgressQueues::Queued& queued) {
  if (egress.node.kind != Node::Kind::kSwitch) return;
  SharedBuffer& buffer = switches_[egress.node.index].buffer;
  Port& ingress = port(static_cast<PortId>(queued.ingress));
  buffer.release(ingress.place, priority, queued.frame->size);
  if (contains(ingress.xoff, priority) && buffer.is_below_xon(ingress.place, priority)) {
    set_xoff(ingress, priority, false);
  }
}

void Network::drop(Port& at, unsigned priority, DropReason reason, Frame* frame) {
  count_drop(at, priority, reason, frame->bytes());
  frames_.release(frame);
}

void Network::count_drop(Port& at, unsigned priority, DropReason reason, std::span<const std::byte> frame) {
  ++at.counters[priority].dropped_frames[static_cast<std::size_t>(reason)];
  if (observer_ != nullptr) observer_->on_drop(at.id, priority, reason, frame, time());
}

void Network::empty_queue(Port& at, unsigned priority, DropReason reason) {
  if (at.queues.is_empty(priority)) return;
  while (!at.queues.is_empty(priority)) {
    const EgressQueues::Queued queued = at.queues.take_from(priority);
    free_buffer(at, priority, queued);
    drop(at, priority, reason, queued.frame);
  }
  if (observer_ != nullptr) observer_->on_queue(at.id, priority, 0, time());
}

}  // namespace urnic::network
