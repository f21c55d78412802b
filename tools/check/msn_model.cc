#include "tools/check/msn_model.h"

#include <fmt/core.h>

#include <string>

namespace urnic::check {
namespace {

constexpr std::uint32_t kMask = 0xffffff;

}  // namespace

void MsnModel::on_msn(const Seen& seen, const MessageCount& count, std::uint32_t ahead) {
  const std::uint32_t msn = seen.packet.msn;
  if (!msn_) {
    msn_ = msn;
    // A count that fits from zero on is that of a connection whose beginning the capture has.
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
  errors_ = fits ? 0 : errors_ + 1;
  if (!fits) {
    complain(seen.number, seen.packet.psn, expected, msn);
  }
  // One wrong MSN is one finding; a responder that goes on from it is believed the second time.
  msn_ = errors_ > 1 ? msn : expected;
}

void MsnModel::on_progress(const MessageCount& count) {
  if (msn_) {
    msn_ = (*msn_ + count.completed - (ignores_writes_ ? count.plain_writes : 0)) & kMask;
  }
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

void MsnModel::finish() {
  if (doubt_) {
    exchange_.findings.add_if_complete(Rule::kMsn, exchange_.flow, {doubt_->frame},
                                       std::to_string(doubt_->expected), std::to_string(doubt_->seen), false);
  }
}

void MsnModel::settle_doubt(bool is_habit) {
  if (!doubt_) {
    return;
  }
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
  exchange_.add_if_sure(Rule::kMsn, {frame}, std::to_string(expected),
                        fmt::format("{} with PSN {}", msn, hex(psn)));
}

}  // namespace urnic::check
