// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/selective_responder.h"

#include <fmt/core.h>

#include <algorithm>

namespace urnic::sim {
namespace {

std::string named(std::uint64_t psn) {
  return fmt::format("{:#x}", psn % (1u << 24));
}

}  // namespace

void SelectiveResponder::on_taken(const Request& request, Time now) {
  note_silence(now);
  const std::uint64_t least = least_expected();
  const bool is_ahead = request.psn > expected_;
  const bool may_be_ahead = request.psn > least;
  const bool held_before = surely_holds();
  const bool may_hold = !taken_.empty() && taken_.rbegin()->first > least;

  if (request.psn >= acknowledged_) take(request);
  if (may_be_ahead || may_hold) ++naks_called_for_;
  if (is_ahead || held_before) owe_report(now);
}

void SelectiveResponder::take(const Request& request) {
  if (request.psn > expected_ + WireView::kHeldPackets) return;
  const auto known = taken_.find(request.psn);
  const bool is_certain = request.psn <= least_expected() + WireView::kHeldPackets;
  if (known != taken_.end()) {
    known->second.is_certain |= is_certain;
  } else if (request.psn >= expected_) {
    taken_[request.psn] = {
        .end = request.end, .may_be_refused = request.may_be_refused, .is_certain = is_certain};
  }
  for (auto next = taken_.find(expected_); next != taken_.end(); next = taken_.find(expected_)) {
    expected_ = next->second.end;
  }
}

std::uint64_t SelectiveResponder::least_expected() const {
  for (const auto& [psn, packet] : taken_) {
    if (psn >= expected_) break;
    if (packet.may_be_refused || !packet.is_certain) return psn;
  }
  return expected_;
}

bool SelectiveResponder::surely_holds() const {
  return std::any_of(taken_.upper_bound(expected_), taken_.end(),
                     [](const auto& entry) { return entry.second.is_certain; });
}

void SelectiveResponder::forget_before(std::uint64_t psn) {
  acknowledged_ = std::max(acknowledged_, psn);
  taken_.erase(taken_.begin(), taken_.lower_bound(acknowledged_));
}

void SelectiveResponder::owe_report(Time now) {
  report_due_since_ = std::min(report_due_since_, now);
  report_up_to_ = expected_;
}

void SelectiveResponder::note_silence(Time now) {
  if (report_due_since_ == transport::kNever) return;
  longest_silence_ = std::max(longest_silence_, now - report_due_since_);
}

// ---------------------------------------------------------------------------------------------------------
// What leaves

SelectiveResponder::Complaint SelectiveResponder::on_selective_nak(const WireView& nak, std::uint64_t psn,
                                                                   Time now) {
  note_silence(now);
  if (auto complaint = check_expected(psn)) return complaint;
  if (auto complaint = check_held(nak, psn)) return complaint;
  if (naks_called_for_ == 0) return "a selective NAK that no packet called for";
  --naks_called_for_;
  report_due_since_ = transport::kNever;

  taken_.erase(psn);  // it came, and there was no receive
  forget_before(psn);
  expected_ = psn;
  std::erase_if(taken_, [&](const auto& entry) {
    const std::uint64_t ahead = entry.first - psn;
    return ahead > WireView::kHeldPackets || !nak.holds(static_cast<std::uint32_t>(ahead));
  });
  for (auto& [held, packet] : taken_) packet.is_certain = true;
  return std::nullopt;
}

SelectiveResponder::Complaint SelectiveResponder::check_expected(std::uint64_t psn) const {
  if (psn > expected_) return "a selective NAK passes PSN " + named(expected_) + ", which has not come";
  if (psn < acknowledged_) return "a selective NAK goes back to before PSN " + named(acknowledged_);
  if (psn == expected_) return std::nullopt;
  const auto refused = taken_.find(psn);
  const bool may_be_missing =
      refused != taken_.end() && (refused->second.may_be_refused || !refused->second.is_certain);
  if (may_be_missing) return std::nullopt;
  return "a selective NAK does not name PSN " + named(expected_) + ", the first that has not come";
}

SelectiveResponder::Complaint SelectiveResponder::check_held(const WireView& nak, std::uint64_t psn) const {
  for (std::uint32_t ahead = 1; ahead <= WireView::kHeldPackets; ++ahead) {
    const auto packet = taken_.find(psn + ahead);
    const bool has_come = packet != taken_.end();
    if (nak.holds(ahead) && !has_come) {
      return "a selective NAK claims to hold PSN " + named(psn + ahead) + ", which it has not";
    }
    if (!nak.holds(ahead) && has_come && packet->second.is_certain) {
      return "a selective NAK does not say that PSN " + named(psn + ahead) + " is held";
    }
  }
  return std::nullopt;
}

// What is beyond the refused packet is held, also what seemed to be executed.
void SelectiveResponder::on_refused(std::uint64_t psn) {
  taken_.erase(psn);
  forget_before(psn);
  expected_ = psn;
  report_due_since_ = transport::kNever;
}

SelectiveResponder::Complaint SelectiveResponder::on_acknowledged(std::uint64_t psn, bool is_ack, Time now) {
  forget_before(psn);
  if (surely_holds()) {
    const bool is_sure = least_expected() == expected_;
    if (is_ack && is_sure) return "an ACK though packets are held: a selective NAK says more";
    // Responses leave before what reports.
    if (!is_ack && report_due_since_ != transport::kNever) report_due_since_ = now;
  } else if (psn >= report_up_to_) {
    report_due_since_ = transport::kNever;
  } else if (!is_ack && report_due_since_ != transport::kNever) {
    report_due_since_ = now;
  }
  return std::nullopt;
}

}  // namespace urnic::sim
