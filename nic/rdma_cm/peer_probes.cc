// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/rdma_cm/peer_probes.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace urnic::nic::rdma_cm {

using transport::Time;
using transport::wire::Gid;
using namespace std::chrono_literals;

namespace {

constexpr transport::Duration kFirstPause = 1ms;
constexpr transport::Duration kLongestPause = 50ms;
/// How long ICMP may take to say that the port is closed, and how long that is remembered for the next
/// connection.
constexpr transport::Duration kKeepFound = 1s;

}  // namespace

const PeerProbes::Entry* PeerProbes::find(const Gid& source, const Gid& destination) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.way.destination == destination && entry.way.source == source;
  });
  return found == entries_.end() ? nullptr : &*found;
}

void PeerProbes::ask(const Way& way, Time now) {
  if (!send_) return;
  if (const Entry* const known = find(way.source, way.destination); known != nullptr) {
    if (known->seen.error == 0) return;
    entries_.erase(entries_.begin() + (known - entries_.data()));
  }
  if (entries_.size() == kMost) return;
  auto probe = send_(way);
  if (probe == nullptr) return;
  entries_.push_back(
      {.way = way, .probe = std::move(probe), .seen = {}, .pause = kFirstPause, .until = transport::kNever});
  look(entries_.back(), now);
}

PeerProbes::Seen PeerProbes::seen(const Gid& source, const Gid& destination) const {
  const Entry* const entry = find(source, destination);
  return entry != nullptr ? entry->seen : Seen{.is_found = true};
}

void PeerProbes::look(Entry& entry, Time now) const {
  const Seen before = entry.seen;
  entry.seen = entry.probe->look();
  const bool is_news = entry.seen.is_found != before.is_found || entry.seen.error != 0;
  if (is_news) entry.until = now + kKeepFound;
  entry.next_look = entry.seen.error != 0 ? transport::kNever : now + entry.pause;
  entry.pause = std::min(2 * entry.pause, kLongestPause);
}

bool PeerProbes::on_timeout(Time now) {
  bool has_news = false;
  for (Entry& entry : entries_) {
    if (entry.next_look > now) continue;
    const Seen before = entry.seen;
    look(entry, now);
    has_news |= entry.seen.is_found != before.is_found || entry.seen.error != before.error;
  }
  std::erase_if(entries_, [&](const Entry& entry) { return entry.until <= now; });
  return has_news;
}

Time PeerProbes::next_timeout() const {
  Time next = transport::kNever;
  for (const Entry& entry : entries_) next = std::min({next, entry.next_look, entry.until});
  return next;
}

}  // namespace urnic::nic::rdma_cm
