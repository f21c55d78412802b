// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/answers.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::replay {

namespace {

using check::AnswerKind;
using check::Operation;
using check::Packet;

bool is_acknowledge(const Packet& packet) {
  return packet.info->operation == Operation::kAcknowledge;
}

bool is_plain_ack(const Packet& packet) {
  return is_acknowledge(packet) && check::kind_of(packet.syndrome) == AnswerKind::kAck;
}

/// The highest PSN that an answer acknowledges.
ExtendedPsn acknowledges(const Packet& packet, ExtendedPsn psn) {
  return is_acknowledge(packet) && !is_plain_ack(packet) ? psn - 1 : psn;
}

}  // namespace

AnswerComparison::AnswerComparison(const Direction& direction, const std::vector<OwnAnswer>& own,
                                   const std::vector<Progress>& progress)
    : direction_(direction), own_(own), progress_(progress), own_matches_(own.size()) {
  index_capture();
}

void AnswerComparison::index_capture() {
  requested_from_.assign(direction_.events.size() + 1, INT64_MAX);
  for (std::size_t index = direction_.events.size(); index-- > 0;) {
    const Event& event = direction_.events[index];
    const bool asks = event.is_request && !event.packet->is_copy;
    requested_from_[index] = std::min(requested_from_[index + 1], asks ? event.psn : INT64_MAX);
  }
  for (std::size_t index = 0; index < direction_.events.size(); ++index) {
    const Event& event = direction_.events[index];
    if (!event.is_request && !event.packet->is_copy) captured_.push_back(index);
    if (event.is_request) msn_after_[progress_[index].expected - 1] = progress_[index].msn;
  }
  acknowledged_from_.assign(captured_.size() + 1, INT64_MIN);
  for (std::size_t index = captured_.size(); index-- > 0;) {
    const Event& event = direction_.events[captured_[index]];
    acknowledged_from_[index] =
        std::max(acknowledged_from_[index + 1], acknowledges(event.packet->packet, event.psn));
  }
}

void AnswerComparison::run(Outcome& outcome) {
  for (std::size_t captured = 0; captured < captured_.size(); ++captured) {
    const std::size_t event = captured_[captured];
    const Event& answer = direction_.events[event];
    if (!try_match(captured, outcome)) {
      if (!is_unasked_ack(answer, event)) return report(captured, outcome);
      outcome.use(AllowedDeviation::kUnaskedAck);
      captured_matches_[event].deviation = AllowedDeviation::kUnaskedAck;
    }
    const Packet& packet = answer.packet->packet;
    acknowledged_ = std::max(acknowledged_, acknowledges(packet, answer.psn));
  }
  finish(outcome);
}

/// Pairs a captured answer with the next of ours that equals it, if all those before may be missing in the
/// capture.
bool AnswerComparison::try_match(std::size_t captured, Outcome& outcome) {
  const std::size_t event = captured_[captured];
  const Event& answer = direction_.events[event];
  std::vector<AllowedDeviation> skipped;
  for (std::size_t at = next_own_; at < own_.size() && skipped.size() < kMostSkipped; ++at) {
    const OwnAnswer& own = own_[at];
    if (own.event > event) return false;  // its request had not come yet
    bool equal = false;
    const auto deviation = why_equal(own, answer, equal, nullptr);
    if (equal) {
      why_equal(own, answer, equal, &outcome);
      if (deviation) outcome.use(*deviation);
      for (std::size_t i = 0; i < skipped.size(); ++i) {
        outcome.use(skipped[i]);
        own_matches_[next_own_ + i].deviation = skipped[i];
      }
      own_matches_[at] = {.partner = event, .deviation = deviation};
      captured_matches_[event] = {.partner = at, .deviation = deviation};
      if (answer.packet->packet.info->has_aeth && own.packet.packet().info->has_aeth && !msn_offset_) {
        msn_offset_ = (answer.packet->packet.msn - own.packet.packet().msn) & 0xffffff;
        if (*msn_offset_ != 0) {
          outcome.notes.push_back(
              fmt::format("the first MSN is {}: the connection began {} messages before the capture",
                          answer.packet->packet.msn, *msn_offset_));
        }
      }
      next_own_ = at + 1;
      ++outcome.compared;
      return true;
    }
    const auto excuse = why_skip_own(own, captured);
    if (!excuse) return false;
    skipped.push_back(*excuse);
  }
  return false;
}

/// Whether the two may stand for each other, and by which deviation that find_difference() does not allow.
std::optional<AllowedDeviation> AnswerComparison::why_equal(const OwnAnswer& own, const Event& captured,
                                                            bool& equal, Outcome* outcome) {
  const Packet& ours = own.packet.packet();
  const Packet& theirs = captured.packet->packet;
  equal = false;
  if (own.psn != captured.psn) return std::nullopt;
  const bool have_msn = ours.info->has_aeth && theirs.info->has_aeth;
  const std::uint32_t offset = msn_offset_.value_or(have_msn ? (theirs.msn - ours.msn) & 0xffffff : 0);
  const bool has_same_msn = !have_msn || ((ours.msn + offset) & 0xffffff) == theirs.msn;
  equal = true;
  if (!find_difference(*captured.packet, own.packet, offset, outcome)) return std::nullopt;
  if (has_same_msn && own.is_repeat && ours.info->operation == Operation::kReadResponse &&
      theirs.info->operation == Operation::kReadResponse &&
      std::equal(ours.payload.begin(), ours.payload.end(), theirs.payload.begin(), theirs.payload.end())) {
    return AllowedDeviation::kReadResumed;
  }
  if (has_same_msn && is_acknowledge(ours) && is_acknowledge(theirs) &&
      ours.syndrome == check::kInvalidRequestNak && theirs.syndrome == check::kRemoteOperationalNak &&
      direction_.events[own.event].packet->packet.info->operation == Operation::kSend) {
    return AllowedDeviation::kLongSendNak;
  }
  equal = false;
  return std::nullopt;
}

/// Why the capture may do without something that our responder sent.
std::optional<AllowedDeviation> AnswerComparison::why_skip_own(const OwnAnswer& own,
                                                               std::size_t captured) const {
  const bool is_covered = acknowledged_from_[captured] >= own.psn || acknowledged_ >= own.psn;
  if (is_plain_ack(own.packet.packet()) && is_covered) return AllowedDeviation::kCoalescedAck;
  if (requested_from_[own.event + 1] <= own.psn) return AllowedDeviation::kLostAnswer;
  return std::nullopt;
}

/// A responder may acknowledge what it has executed at any time, as long as it says something new.
bool AnswerComparison::is_unasked_ack(const Event& captured, std::size_t event) const {
  const Packet& packet = captured.packet->packet;
  if (!is_plain_ack(packet) || captured.psn <= acknowledged_) return false;
  if (captured.psn >= progress_[event].expected) return false;
  const auto msn = msn_after_.find(captured.psn);
  return msn != msn_after_.end() && ((msn->second + msn_offset_.value_or(0)) & 0xffffff) == packet.msn;
}

void AnswerComparison::report(std::size_t captured, Outcome& outcome) {
  const std::size_t event = captured_[captured];
  const Event& answer = direction_.events[event];
  const std::string text = describe(answer.packet->packet);
  // The most telling of ours is the one about the same PSN; otherwise the one whose turn it is.
  const std::size_t from = next_own_ > 4 ? next_own_ - 4 : 0;
  for (std::size_t at = from; at < own_.size() && own_[at].event <= event; ++at) {
    const bool is_open = at >= next_own_ || !own_matches_[at].partner;
    if (is_open && own_[at].psn == answer.psn) {
      difference_partner_ = &own_[at];
      break;
    }
  }
  if (difference_partner_ == nullptr && next_own_ < own_.size() && own_[next_own_].event <= event) {
    difference_partner_ = &own_[next_own_];
  }
  if (difference_partner_ == nullptr) {
    outcome.differ(answer.packet->number, fmt::format("{}: ours does not answer here", text));
    return;
  }
  const auto difference =
      find_difference(*answer.packet, difference_partner_->packet, msn_offset_.value_or(0), nullptr);
  outcome.differ(answer.packet->number,
                 fmt::format("{}: {}", text,
                             difference ? to_string(*difference)
                                        : fmt::format("ours answers {}, but not in this order",
                                                      describe(difference_partner_->packet.packet()))));
}

void AnswerComparison::finish(Outcome& outcome) {
  for (; next_own_ < own_.size(); ++next_own_) {
    const AllowedDeviation deviation =
        why_skip_own(own_[next_own_], captured_.size()).value_or(AllowedDeviation::kEndOfCapture);
    own_matches_[next_own_].deviation = deviation;
    outcome.use(deviation);
  }
}

}  // namespace urnic::replay
