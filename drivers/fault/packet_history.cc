// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/packet_history.h"

#include <algorithm>
#include <utility>

namespace urnic::drivers {

using transport::distance;
using transport::Psn;
using transport::to_integer;

PacketHistory::PacketHistory() {
  flows_.reserve(2 * kMaxFlows);
}

std::optional<PacketHistory::Place> PacketHistory::note(const Packet& packet) {
  ++packets_;
  Flow* const flow = flow_of(packet);
  if (flow == nullptr) {
    ++untracked_;
    return std::nullopt;
  }
  if (packet.part == Part::kNeither) return Place{.queue_pair = flow->number};
  const bool is_request = packet.part == Part::kRequest;
  std::optional<Range>& range = is_request ? flow->requests : flow->answers;
  const bool is_again = range && distance(range->last, packet.psn) <= 0;
  if (!range) range = Range{packet.psn, packet.psn};
  if (!is_again) range->last = packet.psn;

  Psn origin = range->first;
  if (is_request) {
    flow->last_request = packets_;
  } else {
    if (!flow->origin_of_answers) flow->origin_of_answers = origin_of_answer(packet);
    origin = *flow->origin_of_answers;
  }
  return Place{.queue_pair = flow->number, .psn = distance(origin, packet.psn), .is_again = is_again};
}

PacketHistory::Flow* PacketHistory::flow_of(const Packet& packet) {
  const Key key{packet.way, packet.destination_qp, packet.destination};
  const auto place = flows_.find(key);
  if (place != flows_.end()) return &place->second;
  std::uint32_t& count = queue_pairs_[to_integer(packet.way)];
  if (count == kMaxFlows) return nullptr;
  return &flows_.emplace(key, Flow{.number = ++count, .source = packet.source}).first->second;
}

/// Finds the requests, the other way and between the same addresses, that this answer fits best, and returns
/// their first PSN. The answer's PSN is one of theirs, or a little higher (a READ request stands for the PSNs
/// of its whole answer). Of several the latest.
Psn PacketHistory::origin_of_answer(const Packet& packet) const {
  const Flow* best = nullptr;
  std::int32_t best_excess = 0;
  for (const auto& [key, flow] : flows_) {
    if (key.way == packet.way || !flow.requests) continue;
    if (key.destination != packet.source || flow.source != packet.destination) continue;
    if (distance(flow.requests->first, packet.psn) < 0) continue;
    const std::int32_t excess = std::max(0, distance(flow.requests->last, packet.psn));
    const bool is_better = best == nullptr || excess < best_excess ||
                           (excess == best_excess && flow.last_request > best->last_request);
    if (is_better) std::tie(best, best_excess) = std::pair(&flow, excess);
  }
  return best != nullptr ? best->requests->first : packet.psn;
}

}  // namespace urnic::drivers
