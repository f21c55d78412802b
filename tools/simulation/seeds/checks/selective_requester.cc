// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/selective_requester.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::sim {
namespace {

std::uint32_t on_wire(std::uint64_t psn) {
  return static_cast<std::uint32_t>(psn % (1u << 24));
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------
// What leaves

SelectiveRequester::Complaint SelectiveRequester::on_new(const Request& request, std::uint32_t window_packets,
                                                         Time now) {
  const auto lost =
      std::ranges::find_if(packets_, [](const auto& entry) { return entry.second.must_repeat; });
  const auto unacknowledged =
      std::ranges::count_if(packets_.lower_bound(expected_), packets_.end(),
                            [](const auto& entry) { return !entry.second.wants_response; });
  const std::uint32_t in_flight = packets_in_flight();
  packets_[request.psn] = {.psn = request.psn,
                           .end = request.end,
                           .wants_response = request.wants_response,
                           .first_sent = ++sent_,
                           .last_sent = sent_,
                           .last_sent_at = now};
  if (lost != packets_.end()) {
    return fmt::format("a new packet before PSN {:#x}, which has to be sent again", on_wire(lost->first));
  }
  if (request.wants_response) return std::nullopt;
  if (in_flight >= window_packets) {
    return fmt::format("{} packets in flight of at most {}", in_flight + 1, window_packets);
  }
  if (unacknowledged >= kMostUnacknowledged) {
    return fmt::format("a new packet while {} are not acknowledged", unacknowledged);
  }
  return std::nullopt;
}

SelectiveRequester::Complaint SelectiveRequester::on_repeated(std::uint64_t psn, Time now) {
  Packet* const packet = find(psn);
  if (packet == nullptr) return "sent again though it was never sent";
  if (psn != std::max(packet->psn, oldest_)) return "asks for a READ from the wrong packet on";
  if (packet->permission == Permission::kNone) {
    if (packet->is_held) return "sent again though the peer holds it";
    if (packet->psn < expected_) return "sent again though the peer has it";
    return packet->was_repeated() ? "sent again, and no packet is held that was new after the last time"
                                  : "sent again though it is not lost, by what the peer has said";
  }
  packet->permission = Permission::kNone;
  packet->must_repeat = false;
  packet->is_held = false;  // it has forgotten that, when its timer ran out
  packet->last_sent = ++sent_;
  packet->last_sent_at = now;
  is_refused_ = false;
  return std::nullopt;
}

SelectiveRequester::Packet* SelectiveRequester::find(std::uint64_t psn) {
  const auto after = packets_.upper_bound(psn);
  if (after == packets_.begin()) return nullptr;
  Packet& packet = std::prev(after)->second;
  return psn < packet.end ? &packet : nullptr;
}

bool SelectiveRequester::may_repeat(std::uint64_t psn) {
  const Packet* const packet = find(psn);
  return packet != nullptr && packet->permission != Permission::kNone;
}

std::uint32_t SelectiveRequester::packets_in_flight() const {
  return static_cast<std::uint32_t>(
      std::count_if(packets_.lower_bound(expected_), packets_.end(),
                    [](const auto& entry) { return !entry.second.wants_response && !entry.second.is_held; }));
}

// ---------------------------------------------------------------------------------------------------------
// What it learns

void SelectiveRequester::on_acknowledged(std::uint64_t psn) {
  oldest_ = std::max(oldest_, psn);
  while (!packets_.empty() && packets_.begin()->second.end <= oldest_) packets_.erase(packets_.begin());
  on_told(psn);
}

void SelectiveRequester::on_told(std::uint64_t psn) {
  expected_ = std::max(expected_, psn);
  furthest_ = std::max(furthest_, psn);
  for (auto& [first, packet] : packets_) {
    if (first >= expected_) break;  // those are here still whose answers are missing, and what is beyond them
    packet.must_repeat = false;
    if (packet.permission == Permission::kWhileMissing) packet.permission = Permission::kNone;
  }
}

SelectiveRequester::News SelectiveRequester::on_selective_nak(const WireView& nak, std::uint64_t psn,
                                                              Time now) {
  News news;
  if (psn < expected_) return news;  // an old one
  on_told(psn);
  // It may have been held, and refused when its turn came; that RNR NAK need not have arrived.
  if (const auto missing = packets_.find(psn); missing != packets_.end()) {
    Packet& packet = missing->second;
    // The requester, which waits for an earlier one that was refused, then sends what is not held.
    if (packet.is_held && packet.was_held_when_refused) packet.permission = Permission::kGranted;
    packet.is_held = false;
  }
  const bool names_packets = take_report(nak, psn, now, news);
  names_packets ? lose_what_is_missing(psn, news) : lose_everything(psn, news);
  return news;
}

/// False when it names no packet.
bool SelectiveRequester::take_report(const WireView& nak, std::uint64_t psn, Time now, News& news) {
  bool names_packets = false;
  for (std::uint32_t ahead = 1; ahead <= WireView::kHeldPackets; ++ahead) {
    if (!nak.holds(ahead)) continue;
    const auto found = packets_.find(psn + ahead);
    if (found == packets_.end()) continue;  // the responder's judge has complained
    Packet& packet = found->second;
    names_packets = true;
    news.is_sign_of_life |= packet.end > furthest_;
    furthest_ = std::max(furthest_, packet.end);
    packet.is_held = true;
    packet.reported_at = now;
    packet.must_repeat = false;
    if (packet.permission == Permission::kWhileMissing) packet.permission = Permission::kNone;
  }
  return names_packets;
}

void SelectiveRequester::lose(Packet& packet, News& news) {
  news.begins_round |= packet.permission == Permission::kNone;
  packet.must_repeat = true;
  if (packet.permission == Permission::kNone) packet.permission = Permission::kWhileMissing;
}

// Packets are sent for the first time in the order of their PSNs: that which is held furthest ahead was the
// last.
void SelectiveRequester::lose_what_is_missing(std::uint64_t psn, News& news) {
  const auto furthest = std::find_if(packets_.rbegin(), packets_.rend(),
                                     [](const auto& entry) { return entry.second.is_held; });
  for (auto entry = packets_.lower_bound(psn); entry != packets_.end(); ++entry) {
    Packet& packet = entry->second;
    if (!packet.is_held && packet.last_sent < furthest->second.first_sent) lose(packet, news);
  }
}

// What was sent again in such a round already is lost again when the peer has got on since; it need not be
// seen so.
void SelectiveRequester::lose_everything(std::uint64_t psn, News& news) {
  const bool holds_some = std::any_of(packets_.lower_bound(psn), packets_.end(),
                                      [](const auto& entry) { return entry.second.is_held; });
  for (auto entry = packets_.lower_bound(psn); entry != packets_.end(); ++entry) {
    Packet& packet = entry->second;
    if (packet.is_held) continue;
    if (!packet.was_repeated() && !holds_some) {
      lose(packet, news);
    } else if (!packet.was_repeated() || psn > whole_round_) {
      packet.permission = std::max(packet.permission, Permission::kWhileMissing);
      news.begins_round = true;
    }
  }
  // While it waits after a refusal it takes no notice, and the same NAK may come a second time.
  if (!is_refused_) whole_round_ = psn;
}

void SelectiveRequester::on_refused(std::uint64_t psn) {
  const bool is_old = psn < expected_;
  on_told(psn);
  is_refused_ = true;
  whole_round_ = 0;
  if (const auto refused = packets_.find(psn); refused != packets_.end()) refused->second.is_held = false;
  for (auto entry = packets_.lower_bound(psn); entry != packets_.end(); ++entry) {
    Packet& packet = entry->second;
    packet.was_held_when_refused = packet.is_held;
    if (packet.is_held) continue;
    packet.permission = Permission::kGranted;
    packet.must_repeat |= !is_old;
  }
}

void SelectiveRequester::on_refused_for_good(std::uint64_t psn) {
  const auto refused = packets_.find(psn);
  if (refused == packets_.end() || psn < expected_ || !refused->second.is_held) return;
  refused->second.is_held = false;
  refused->second.permission = Permission::kWhileMissing;
}

bool SelectiveRequester::on_answer_lost() {
  bool is_new = false;
  for (auto& [psn, packet] : packets_) {
    if (!packet.wants_response) continue;
    is_new |= packet.permission == Permission::kNone;
    packet.permission = Permission::kGranted;
  }
  return is_new;
}

SelectiveRequester::Complaint SelectiveRequester::on_timeout(std::uint64_t psn, Time overdue_since) {
  const Packet& oldest = packets_.begin()->second;
  if (psn != std::max(oldest.psn, oldest_) && oldest.last_sent_at < overdue_since) {
    return fmt::format("goes back, and not to PSN {:#x}, the oldest", on_wire(oldest_));
  }
  for (auto& [first, packet] : packets_) {
    packet.permission = Permission::kGranted;
    packet.is_held = packet.is_held && packet.reported_at >= overdue_since;
    const bool may_be_done = packet.is_held || (first < expected_ && !packet.wants_response);
    packet.must_repeat = !may_be_done && packet.last_sent_at < overdue_since;
  }
  whole_round_ = 0;
  return std::nullopt;
}

void SelectiveRequester::may_go_back() {
  for (auto& [psn, packet] : packets_) packet.permission = Permission::kGranted;
}

}  // namespace urnic::sim
