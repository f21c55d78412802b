// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/models/msn.h"

#include <fmt/core.h>

#include <string>

#include "tools/conformance/check/packets/number_text.h"

namespace urnic::check {
namespace {

constexpr std::uint32_t kMask = 0xffffff;

}  // namespace

// The MSN of an ACK may already count READs and atomics after its PSN: rdma_rxe acknowledges a
// repeated SEND so (see kAckBehindResponse).
std::uint32_t MsnModel::least_msn() const {
  const MessageCount& since = floor_->since;
  return (floor_->msn + since.completed - since.fetches - (counts_writes_ ? 0 : since.plain_writes)) & kMask;
}

void MsnModel::on_executed(const Seen& seen, Psn psn, const MessageCount& count) {
  if (floor_) {
    floor_->since.completed += count.completed;
    floor_->since.plain_writes += count.plain_writes;
    floor_->since.fetches += count.fetches;
  }
  if (!seen.packet.info->is_acknowledge() || (floor_ && distance(floor_->psn, psn) < 0)) {
    return;
  }
  const std::uint32_t msn = seen.packet.msn;
  if (floor_ && msn_distance(least_msn(), msn) < 0) {
    below_floor_frame_ = seen.number;
    exchange_.findings.add(
        Rule::kMsn, exchange_.flow, {floor_->frame, seen.number},
        fmt::format("{} or more, after {} with PSN {}", least_msn(), floor_->msn, to_string(floor_->psn)),
        fmt::format("{} with PSN {}", msn, to_string(seen.packet.psn)));
  }
  floor_ = Floor{.frame = seen.number, .psn = psn, .msn = msn, .since = {}};
}

void MsnModel::on_msn(const Seen& seen, const MessageCount& count, std::uint32_t ahead) {
  const std::uint32_t msn = seen.packet.msn;
  if (!msn_) {
    msn_ = msn;
    // If the count fits from zero on, the capture has the connection's beginning.
    exchange_.is_settled = exchange_.is_settled || (msn == count.completed && !was_restarted_);
    return;
  }
  const std::uint32_t expected = (*msn_ + count.completed) & kMask;
  const std::uint32_t without_writes = (expected - count.plain_writes) & kMask;
  if (doubt_ && count.completed > 0) {
    const std::uint32_t missing = (doubt_->expected - doubt_->seen) & kMask;
    const bool caught_up = msn == ((expected + missing) & kMask);
    settle_doubt(!caught_up && (msn == expected || msn == without_writes));
    if (caught_up) {
      msn_ = msn;
      return;
    }
  }
  const std::int32_t off = msn_distance(expected, msn);
  if (count.plain_writes > 0 && msn == without_writes) {
    msn_ = msn;
    if (ignores_writes_) {
      exchange_.findings.add(Rule::kMsnWithoutWrites, exchange_.flow, {seen.number}, std::to_string(expected),
                             std::to_string(msn));
    } else if (!doubt_) {
      doubt_ = Doubt{.frame = seen.number, .psn = seen.packet.psn, .expected = expected, .seen = msn};
    }
    return;
  }
  const bool fits = off == 0 || (off > 0 && static_cast<std::uint32_t>(off) <= ahead);
  counts_writes_ = counts_writes_ || (off == 0 && count.plain_writes > 0);
  errors_ = fits ? 0 : errors_ + 1;
  if (!fits) complain(seen.number, seen.packet.psn, expected, msn);
  // One wrong MSN is one finding; a responder that goes on from it is believed the second time.
  msn_ = errors_ > 1 ? msn : expected;
  if (!fits && floor_ && floor_->frame == seen.number && exchange_.can_be_sure()) floor_->msn = *msn_;
}

void MsnModel::on_progress(const MessageCount& count) {
  if (msn_) msn_ = (*msn_ + count.completed - (ignores_writes_ ? count.plain_writes : 0)) & kMask;
}

std::optional<std::int32_t> MsnModel::counted_by(const Seen& seen) const {
  return msn_ ? std::optional(msn_distance(*msn_, seen.packet.msn)) : std::nullopt;
}

void MsnModel::restart(const Seen* seen) {
  settle_doubt(false);
  was_restarted_ = true;
  msn_ = seen != nullptr ? std::optional(seen->packet.msn) : std::nullopt;
  errors_ = 0;
}

void MsnModel::forget() {
  restart(nullptr);
  floor_.reset();
  counts_writes_ = false;
}

void MsnModel::finish() {
  if (doubt_) {
    exchange_.findings.add_if_complete(Rule::kMsn, exchange_.flow, {doubt_->frame},
                                       std::to_string(doubt_->expected), std::to_string(doubt_->seen), false);
  }
}

void MsnModel::settle_doubt(bool is_habit) {
  if (!doubt_) return;
  if (is_habit) {
    ignores_writes_ = true;
    exchange_.findings.add(Rule::kMsnWithoutWrites, exchange_.flow, {doubt_->frame},
                           std::to_string(doubt_->expected), std::to_string(doubt_->seen));
  } else {
    complain(doubt_->frame, doubt_->psn, doubt_->expected, doubt_->seen);
  }
  doubt_.reset();
}

void MsnModel::complain(std::uint64_t frame, Psn psn, std::uint32_t expected, std::uint32_t msn) {
  if (frame == below_floor_frame_) {
    return;  // said already
  }
  exchange_.add_if_sure(Rule::kMsn, {frame}, std::to_string(expected),
                        fmt::format("{} with PSN {}", msn, to_string(psn)));
}

}  // namespace urnic::check
