// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Links that lose, repeat, delay and damage frames on purpose.
#include <algorithm>
#include <cassert>

#include "drivers/network/network.h"

namespace urnic::network {

void Network::set_link_faults(LinkFaults* faults) {
  faults_ = faults;
  for (Port& each : ports_) each.has_faults = faults != nullptr && faults->is_about(link_of(each.id));
}

/// The frame has taken its time on the link, whatever the faults do to it.
void Network::travel_faulty(Port& at, Frame* frame, unsigned priority) {
  for (Port::Held& held : at.held) --held.frames_to_go;
  afflict(at, frame, priority);
  const auto is_due = [](const Port::Held& held) { return held.frames_to_go == 0; };
  for (const Port::Held& held : at.held) {
    if (is_due(held)) travel(at, held.frame, held.priority);
  }
  std::erase_if(at.held, is_due);
}

void Network::afflict(Port& at, Frame* frame, unsigned priority) {
  const LinkId link = link_of(at.id);
  const LinkFate fate = faults_->judge(link, end_of(at.id), frame->bytes());
  if (fate.is_lost) return drop(at, priority, DropReason::kFault, frame);
  if (fate.is_changed) {
    frame = frames_.make_own(frame);
    const std::size_t left = faults_->change(link, frame->bytes());
    const auto fields = read_fields(frame->bytes().first(std::min<std::size_t>(left, frame->size)));
    if (!fields) return drop(at, priority, DropReason::kFault, frame);
    frame->size = static_cast<std::uint32_t>(std::min<std::size_t>(left, frame->size));
    frame->fields = *fields;
  }
  frame->references += fate.is_duplicated;
  if (fate.behind > 0) {
    at.held.push_back({.frame = frame, .priority = priority, .frames_to_go = fate.behind});
  } else if (fate.delay != Duration{}) {
    travel_late(at, frame, priority, to_ticks(fate.delay));
  } else {
    travel(at, frame, priority);
  }
  if (fate.is_duplicated) travel(at, frame, priority);
}

void Network::travel_late(Port& at, Frame* frame, unsigned priority, Ticks delay) {
  const Port::InFlight late{
      .arrival = at.busy_until + at.delay + delay, .frame = frame, .priority = priority};
  const auto is_later = [](Ticks arrival, const Port::InFlight& other) { return arrival < other.arrival; };
  at.late.insert(std::upper_bound(at.late.begin(), at.late.end(), late.arrival, is_later), late);
  add_event(Event::Kind::kArriveLate, at, 0, late.arrival);
}

/// There is an event for each of them, in the order in which they arrive.
void Network::arrive_late(Port& from) {
  assert(!from.late.empty() && from.late.front().arrival <= now_);
  const Port::InFlight arrived = from.late.front();
  from.late.erase(from.late.begin());
  reach_other_end(from, arrived.frame);
}

/// When the link is cut.
void Network::lose_what_is_held(Port& at) {
  for (const Port::InFlight& late : at.late) drop(at, late.priority, DropReason::kLinkDown, late.frame);
  for (const Port::Held& held : at.held) drop(at, held.priority, DropReason::kLinkDown, held.frame);
  at.late.clear();
  at.held.clear();
}

}  // namespace urnic::network
