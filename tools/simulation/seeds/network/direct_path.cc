// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/direct_path.h"

#include <algorithm>
#include <utility>

namespace urnic::sim {

DirectPath::DirectPath(const Options& options, EventQueue& events)
    : options_(options),
      events_(events),
      receivers_(options.links.size(), Receiver{.last_delivery = std::vector<Time>(options.links.size())}) {}

void DirectPath::carry(Trip trip) {
  Time time = trip.time;
  if (trip.keeps_order) {
    Receiver& receiver = receivers_[index(trip.to)];
    Time& last = receiver.last_delivery[index(trip.from)];
    last = std::max({time, last, receiver.free_at});
    receiver.free_at = std::max(receiver.free_at, time) + time_on(options_.links[index(trip.to)], trip.bytes);
    time = last;
  }
  if (!trip.frame) return;
  events_.add(
      {.time = time, .kind = Event::Kind::kDeliver, .host = trip.to, .frame = std::move(*trip.frame)});
}

}  // namespace urnic::sim
