// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/view/sightings.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <unordered_map>
#include <utility>

namespace urnic::view {
namespace {

/// Clocks of two recordings may differ by so much, so that a frame seems to come before it was sent.
constexpr std::int64_t kClockSlackNs = 100'000;
/// Of many equal packets at most so many are looked at.
constexpr std::ptrdiff_t kMostCandidates = 64;

std::int64_t order_of(const Packet& packet) {
  return packet.time_ns() + (packet.seen.front().way == Way::kReceived ? kClockSlackNs : 0);
}

struct Key {
  check::FlowKey flow;
  std::uint32_t digest;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const { return check::FlowKeyHash{}(key.flow) * 31 + key.digest; }
};

bool may_be_one(const Sighting& sent, const Sighting& received) {
  return sent.file != received.file && sent.way != Way::kReceived && received.way != Way::kSent;
}

/// Of the packets that only one capture has so far, the one that this one is likely to be: the last that was
/// sent before, or, as clocks differ, the first that was sent a little later.
std::vector<std::size_t>::iterator likeliest(std::vector<std::size_t>& candidates,
                                             const std::vector<Packet>& packets, const Sighting& received) {
  auto found = candidates.end();
  const auto begin = candidates.end() - std::min(std::ssize(candidates), kMostCandidates);
  for (auto candidate = candidates.end(); candidate != begin;) {
    --candidate;
    const Sighting& sent = packets[*candidate].seen.front();
    if (!may_be_one(sent, received)) continue;
    found = candidate;
    if (sent.time_ns <= received.time_ns) break;
  }
  return found;
}

}  // namespace

std::vector<Packet> unite(std::vector<Capture>& captures) {
  std::vector<Packet> all;
  for (Capture& capture : captures) std::ranges::move(capture.packets, std::back_inserter(all));
  std::ranges::stable_sort(all, {}, order_of);
  // Of each kind those that only one capture has so far.
  std::unordered_map<Key, std::vector<std::size_t>, KeyHash> alone;
  std::vector<Packet> united;
  united.reserve(all.size());
  for (Packet& packet : all) {
    std::vector<std::size_t>& candidates = alone[{.flow = packet.flow, .digest = packet.digest}];
    if (const auto found = likeliest(candidates, united, packet.seen.front()); found != candidates.end()) {
      Packet& sent = united[*found];
      sent.seen.push_back(std::move(packet.seen.front()));
      sent.has_bad_icrc = sent.has_bad_icrc || packet.has_bad_icrc;
      candidates.erase(found);
      continue;
    }
    candidates.push_back(united.size());
    united.push_back(std::move(packet));
  }
  std::ranges::stable_sort(united, {}, &Packet::time_ns);
  return united;
}

}  // namespace urnic::view
