// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/inference.h"

#include <algorithm>

namespace urnic::replay {

namespace {

constexpr std::uint8_t kCodeBits = 0x1f;

}  // namespace

Inference::Inference(const Direction& direction) : direction_(direction) {
  for (std::size_t index = 0; index < direction.events.size(); ++index) {
    const Event& event = direction.events[index];
    if (!event.is_request && !event.packet->is_copy) answers_[event.psn].push_back(index);
  }
  if (direction.service == check::Service::kUd) {
    find_q_key();
  } else {
    find_losses();
    find_refusals();
  }
}

/// Follows a responder that sees every arrival. A NAK may ask for a packet that this responder has executed.
/// If nothing has acknowledged that packet, and no gap in the capture explains the NAK, the real responder
/// never got the packet.
void Inference::find_losses() {
  if (direction_.events.empty()) return;
  ExtendedPsn expected = direction_.events.front().psn;
  ExtendedPsn acknowledged = expected - 1;
  std::set<ExtendedPsn> gaps;  // no NAK was seen for these yet
  std::map<ExtendedPsn, std::size_t> executed;
  for (std::size_t index = 0; index < direction_.events.size(); ++index) {
    const Event& event = direction_.events[index];
    const check::Packet& packet = event.packet->packet;
    if (event.is_request) {
      if (event.psn > expected) gaps.insert(expected);
      if (event.psn != expected) continue;
      executed[expected] = index;
      const bool is_read = packet.info->operation == check::Operation::kRead;
      expected += is_read ? direction_.packets_for(packet.length) : 1;
      continue;
    }
    if (packet.info->operation != check::Operation::kAcknowledge ||
        check::kind_of(packet.syndrome) != check::AnswerKind::kSequenceNak) {
      const bool is_nak = packet.info->operation == check::Operation::kAcknowledge &&
                          check::kind_of(packet.syndrome) != check::AnswerKind::kAck;
      acknowledged = std::max(acknowledged, event.psn - (is_nak ? 1 : 0));
      continue;
    }
    if (gaps.erase(event.psn) != 0) {
      // A packet beyond the gap caused this NAK.
    } else if (event.psn < expected && event.psn > acknowledged && executed.count(event.psn) != 0) {
      lost_.insert(executed[event.psn]);
      executed.erase(executed.find(event.psn), executed.end());
      expected = event.psn;
    }
    acknowledged = std::max(acknowledged, event.psn - 1);
  }
}

/// A NAK refuses every arrival of its PSN before it that no other one refuses: what it names was not executed
/// yet.
void Inference::find_refusals() {
  std::map<ExtendedPsn, std::vector<std::size_t>> arrivals;
  bool has_timer = false;
  for (std::size_t index = 0; index < direction_.events.size(); ++index) {
    const Event& event = direction_.events[index];
    const check::Packet& packet = event.packet->packet;
    if (event.is_request) {
      if (lost_.count(index) == 0) arrivals[event.psn].push_back(index);
      continue;
    }
    if (packet.info->operation != check::Operation::kAcknowledge || event.packet->is_copy) continue;
    const check::AnswerKind kind = check::kind_of(packet.syndrome);
    if (kind != check::AnswerKind::kRnrNak && kind != check::AnswerKind::kFatalNak) continue;
    if (kind == check::AnswerKind::kFatalNak) refused_psns_.emplace(event.psn, packet.syndrome);
    if (kind == check::AnswerKind::kRnrNak && !has_timer) {
      rnr_timer_ = packet.syndrome & kCodeBits;
      has_timer = true;
    }
    for (const std::size_t arrival : arrivals[event.psn]) {
      if (kind == check::AnswerKind::kRnrNak) {
        not_ready_.insert(arrival);
      } else {
        refusals_.emplace(arrival, packet.syndrome);
      }
    }
    arrivals.erase(event.psn);
  }
}

void Inference::find_q_key() {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Event& event : direction_.events) ++counts[event.packet->packet.q_key];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != counts.end()) q_key_ = most->first;
}

std::optional<std::uint8_t> Inference::refusal_of(std::size_t event) const {
  const auto found = refusals_.find(event);
  return found == refusals_.end() ? std::nullopt : std::optional(found->second);
}

/// What came before the packet that was refused did fit.
std::uint32_t Inference::room_for(const Message& message) const {
  const auto refused = refused_psns_.lower_bound(message.first);
  if (message.operation != check::Operation::kSend || refused == refused_psns_.end() ||
      refused->first >= message.end() || refused->second == check::kRemoteAccessNak) {
    return kAnyRoom;
  }
  return static_cast<std::uint32_t>((refused->first - message.first) * direction_.path_mtu);
}

std::map<ExtendedPsn, const CapturedPacket*> Inference::answers_to(ExtendedPsn first, ExtendedPsn end,
                                                                   std::size_t event) const {
  std::map<ExtendedPsn, const CapturedPacket*> found;
  for (auto at = answers_.lower_bound(first); at != answers_.end() && at->first < end; ++at) {
    const auto later = std::upper_bound(at->second.begin(), at->second.end(), event);
    if (later != at->second.end()) found.emplace(at->first, direction_.events[*later].packet);
  }
  return found;
}

}  // namespace urnic::replay
