// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/rc/recovery/selective_repeat.h"

#include <algorithm>
#include <utility>

#include "transport/rc/recovery/go_back_n.h"

namespace urnic::transport {

std::unique_ptr<LossRecovery> make_loss_recovery(Recovery recovery, Psn first) {
  if (recovery == Recovery::kSelectiveRepeat) return std::make_unique<SelectiveRepeat>(first);
  return std::make_unique<GoBackN>();
}

void SelectiveRepeat::Range::begin_at(Psn psn) {
  if (distance(begin, psn) > 0) begin = psn;
  if (is_empty()) end = begin;
}

SelectiveRepeat::SelectiveRepeat(Psn first) : last_held_(first), all_{first, first}, answered_{first, first} {
  held_.start(first);
}

void SelectiveRepeat::on_progress(Psn oldest) {
  if (sends_again_from_ && distance(*sends_again_from_, oldest) > 0) sends_again_from_.reset();
  is_asking_again_ = false;
  all_.begin_at(oldest);
  answered_.begin_at(oldest);
}

void SelectiveRepeat::on_executed(Psn end, bool misses) {
  const std::int32_t ahead = distance(held_.expected(), end);
  if (ahead < 0) return;
  held_.advance(end);
  if (misses) held_.erase_expected();
  if (ahead == 0) return;
  if (distance(last_held_, end) > 0) last_held_ = end;
  if (has_repetitions_ && distance(last_repeated_, end) > 0) forget_repetitions();
}

Report SelectiveRepeat::on_held(Psn expected, HeldPsns::Bitmap bitmap) {
  on_executed(expected, true);
  if (expected != held_.expected()) return Report::kOld;
  held_.merge(bitmap);
  if (distance(last_held_, held_.last()) <= 0) return Report::kSame;
  last_held_ = held_.last();
  return Report::kFurther;
}

bool SelectiveRepeat::on_loss(Loss loss, const InFlight& in_flight) {
  const Range everything{in_flight.oldest, in_flight.end};
  switch (loss) {
    case Loss::kRequest:
      if (!held_.is_empty()) return true;
      if (sends_again_from_ && distance(*sends_again_from_, held_.expected()) <= 0) return false;
      sends_again_from_ = held_.expected();
      // The peer has all before.
      all_ = everything;
      all_.begin_at(held_.expected());
      return true;
    case Loss::kAnswer:
      if (std::exchange(is_asking_again_, true)) return false;
      answered_ = everything;
      return true;
    case Loss::kUnknown:
      held_.start(held_.expected());
      forget_repetitions();
      answered_ = everything;
      break;
    case Loss::kRefused:
      break;
  }
  sends_again_from_.reset();
  is_asking_again_ = false;
  all_ = everything;
  return true;
}

bool SelectiveRepeat::wants(Psn psn, RequestPart part) const {
  const bool is_data = part == RequestPart::kData;
  if (held_.contains(psn) || (is_data && has_executed(psn))) return false;
  if (!is_data && answered_.contains(psn)) return true;
  // The peer has executed a READ that it began to answer: its request is not lost.
  return part != RequestPart::kGoesOn && (all_.contains(psn) || is_lost(psn));
}

// A packet that arrived left after it, and the network keeps their order.
bool SelectiveRepeat::is_lost(Psn psn) const {
  const Psn last = held_.last();
  if (distance(held_.expected(), psn) < 0 || distance(psn, last) <= 0) return false;
  if (repetitions_ == nullptr) return true;
  const Repetition& known = (*repetitions_)[place_of(psn)];
  return !known.is_valid || known.psn != psn || distance(known.next, last) >= 0;
}

void SelectiveRepeat::on_sent_again(Psn psn, Psn end, Psn next) {
  if (repetitions_ == nullptr) repetitions_ = std::make_unique<std::array<Repetition, kRepetitions>>();
  (*repetitions_)[place_of(psn)] = {.psn = psn, .next = next, .is_valid = true};
  if (!std::exchange(has_repetitions_, true) || distance(last_repeated_, psn) > 0) last_repeated_ = psn;
  all_.begin_at(end);
  answered_.begin_at(end);
}

void SelectiveRepeat::forget_repetitions() {
  if (std::exchange(has_repetitions_, false)) repetitions_->fill({});
}

}  // namespace urnic::transport
