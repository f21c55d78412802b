// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Links that go down and up.
#include <array>

#include "drivers/network/network.h"

namespace urnic::network {

void Network::change_link(LinkId link, bool is_up) {
  if (this->is_up(link) == is_up) return;
  link_is_up_[static_cast<std::size_t>(link)] = is_up;
  const std::array<PortId, 2> ends = {port_id(link, 0), port_id(link, 1)};
  // Both first: what a queue gives back may make a port send.
  for (const PortId end : ends) port(end).is_up = is_up;
  for (const PortId end : ends) is_up ? mend(port(end)) : cut(port(end));
  routes_.compute(link_is_up_);
  if (observer_ != nullptr) observer_->on_link(link, is_up, time());
}

/// Loses what is on the link and what waits for it. Pauses, in both directions, end with the link.
void Network::cut(Port& at) {
  ++at.generation;
  at.is_waking = false;
  at.xoff = 0;
  at.pause_due = 0;
  at.watched = 0;
  at.discarded = 0;
  at.refresh_at.fill(kNoTicks);
  at.stalled_since.fill(kNoTicks);
  while (!at.wire.is_empty()) {
    const Port::InFlight lost = at.wire.pop();
    if (lost.frame->fields.is_mac_control) {
      frames_.release(lost.frame);
    } else {
      drop(at, lost.priority, DropReason::kLinkDown, lost.frame);
    }
  }
  lose_what_is_held(at);
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    if (at.queues.is_paused(priority)) resume(at, priority);
    empty_queue(at, priority, DropReason::kLinkDown);
  }
}

void Network::mend(Port& at) {
  at.busy_until = now_;
}

}  // namespace urnic::network
