// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pauses: asking for them, obeying them, and the watchdog that ends those that last for too long.
#include <algorithm>
#include <array>

#include "drivers/network/network.h"
#include "drivers/network/pause_frame.h"

namespace urnic::network {
namespace {

/// The address that a port has in its pause frames: locally administered, "nw" and its number.
transport::wire::Mac mac_of(PortId id) {
  const auto number = static_cast<std::uint32_t>(id);
  return {{0x02, 'n', 'w', static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
           static_cast<std::uint8_t>(number)}};
}

}  // namespace

void Network::add_event(Event::Kind kind, const Port& at, unsigned priority, Ticks time) {
  events_.add({.time = time,
               .kind = kind,
               .priority = static_cast<std::uint8_t>(priority),
               .target = static_cast<std::uint32_t>(at.id),
               .generation = at.generation});
}

// ---------------------------------------------------------------------------------------------------------
// Asking

void Network::set_xoff(Port& at, unsigned priority, bool is_xoff) {
  at.xoff = with(at.xoff, priority, is_xoff);
  at.refresh_at[priority] = kNoTicks;
  if (is_xoff) {
    at.refresh_at[priority] = now_;
    return refresh_pause(at, priority);
  }
  at.pause_due = with(at.pause_due, priority, true);
  kick(at);
}

/// Sends an XOFF now, and another one when half of its time has passed: so much may the link be late.
void Network::refresh_pause(Port& at, unsigned priority) {
  if (at.refresh_at[priority] != now_) return;  // the pause has ended, or begun again, since
  at.refresh_at[priority] = now_ + std::max<Ticks>(at.quantum * at.profile->pause_quanta / 2, 1);
  add_event(Event::Kind::kPauseRefresh, at, priority, at.refresh_at[priority]);
  at.pause_due = with(at.pause_due, priority, true);
  kick(at);
}

/// One frame says it for all priorities, as they are when it leaves.
void Network::send_pause_frame(Port& at) {
  PauseFrame pause{.priorities = at.pause_due};
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    if (!contains(at.pause_due, priority)) continue;
    pause.quanta[priority] = contains(at.xoff, priority) ? at.profile->pause_quanta : std::uint16_t{0};
    ++at.counters[priority].pauses_sent;
  }
  at.pause_due = 0;
  std::array<std::byte, PauseFrame::kBytes> bytes;
  emit(pause, mac_of(at.id), bytes);
  put_on_wire(at, frames_.take(bytes, {.is_group = true, .is_link_local = true, .is_mac_control = true}), 0);
}

// ---------------------------------------------------------------------------------------------------------
// Obeying

/// What the neighbor of a port sent to it alone. Pauses of priorities that are not lossless are counted and
/// ignored, as is anything else of MAC control.
void Network::obey(Port& at, std::span<const std::byte> frame) {
  const auto asked = PauseFrame::parse(frame);
  if (!asked) return;
  for (unsigned priority = 0; priority < kPriorities; ++priority) {
    if (!contains(asked->priorities, priority)) continue;
    ++at.counters[priority].pauses_received;
    if (!contains(at.lossless, priority)) continue;
    const Ticks length = at.quantum * asked->quanta[priority];
    if (length > 0) pause(at, priority, length);
    if (length == 0 && at.queues.is_paused(priority)) resume(at, priority);
  }
}

void Network::pause(Port& at, unsigned priority, Ticks length) {
  at.paused_until[priority] = now_ + length;
  add_event(Event::Kind::kPauseEnd, at, priority, at.paused_until[priority]);
  if (at.queues.is_paused(priority)) return;
  at.queues.set_paused(priority, true);
  at.paused_since[priority] = now_;
  watch(at, priority);
  if (observer_ != nullptr) observer_->on_pause(at.id, priority, true, time());
}

void Network::resume(Port& at, unsigned priority) {
  at.queues.set_paused(priority, false);
  at.stalled_since[priority] = kNoTicks;
  at.counters[priority].paused_time += to_duration(now_ - at.paused_since[priority]);
  if (observer_ != nullptr) observer_->on_pause(at.id, priority, false, time());
  kick(at);
  if (at.node.kind == Node::Kind::kHost && sink_ != nullptr) {
    sink_->on_room(static_cast<HostId>(at.node.index), priority, time());
  }
}

// ---------------------------------------------------------------------------------------------------------
// The watchdog: a queue that has frames, is paused, and has sent nothing for its whole time is emptied, and
// takes nothing for a while, as SONiC's and Juniper's watchdogs do with the action "drop" (SONiC's "PFC
// Watchdog Design"; Juniper's "PFC Watchdog").

/// The queue may be stalled from now on.
void Network::watch(Port& at, unsigned priority) {
  if (!at.queues.is_paused(priority) || at.queues.is_empty(priority)) return;
  if (at.node.kind != Node::Kind::kSwitch || at.stalled_since[priority] != kNoTicks) return;
  const Ticks limit = to_ticks(at.profile->priorities[priority].lossless->watchdog);
  if (limit == 0) return;
  at.stalled_since[priority] = now_;
  if (contains(at.watched, priority)) return;
  at.watched = with(at.watched, priority, true);
  add_event(Event::Kind::kWatchdog, at, priority, now_ + limit);
}

void Network::look_at_stall(Port& at, unsigned priority) {
  at.watched = with(at.watched, priority, false);
  const Ticks since = at.stalled_since[priority];
  if (since == kNoTicks) return;
  const Lossless& lossless = *at.profile->priorities[priority].lossless;
  const Ticks limit = to_ticks(lossless.watchdog);
  if (now_ - since < limit) {
    at.watched = with(at.watched, priority, true);
    return add_event(Event::Kind::kWatchdog, at, priority, since + limit);
  }
  at.stalled_since[priority] = kNoTicks;
  ++at.counters[priority].watchdog_fired;
  if (observer_ != nullptr) observer_->on_watchdog(at.id, priority, time());
  at.discarded = with(at.discarded, priority, true);
  const Ticks restore = to_ticks(lossless.watchdog_restore);
  add_event(Event::Kind::kWatchdogRestore, at, priority, now_ + (restore > 0 ? restore : limit));
  empty_queue(at, priority, DropReason::kWatchdog);
}

}  // namespace urnic::network
