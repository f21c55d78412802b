// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/models/exchange.h"

#include <algorithm>
#include <utility>

namespace urnic::check {

bool is_path_mtu(std::size_t bytes) {
  return bytes >= 256 && bytes <= kLargestMtu && (bytes & (bytes - 1)) == 0;
}

std::uint32_t Exchange::responses_for(std::uint32_t length) const {
  const std::uint64_t size = mtu == 0 ? kLargestMtu : mtu;
  const std::uint64_t responses = (length + size - 1) / size;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(responses, 1, RequestLog::kMaxSpan));
}

bool Exchange::learn_mtu(std::size_t payload_bytes) {
  if (!is_path_mtu(payload_bytes)) return false;
  if (mtu == 0) {
    mtu = static_cast<std::uint32_t>(payload_bytes);
    settle_last_span();
    log.settle_spans([this](std::uint32_t length) { return responses_for(length); });
  }
  return true;
}

void Exchange::add_if_sure(Rule rule, std::initializer_list<std::uint64_t> frames, std::string expected,
                           std::string seen) {
  findings.add_if_complete(rule, flow, frames, std::move(expected), std::move(seen), is_settled);
}

void Exchange::add_if_in_order(const Seen& seen, Rule rule, std::string expected, std::string what) {
  findings.add_if_complete(rule, flow, {seen.number}, std::move(expected), std::move(what),
                           is_settled && seen.order == Order::kInOrder);
}

void Exchange::close_hole(Psn psn) {
  std::erase_if(holes, [psn](const Hole& hole) { return hole.psn == psn; });
}

void Exchange::settle_last_span() {
  if (last_span_unsure && mtu != 0 && !log.is_empty()) {
    log.back().span = responses_for(log.back().length);
    last_span_unsure = false;
  }
}

Tries* Exchange::tries_of_oldest() {
  if (!acknowledged) return nullptr;
  const Psn oldest = *acknowledged + 1;
  if (tries.psn != oldest) tries = Tries{.psn = oldest};
  return &tries;
}

// With progress the count of retries begins again (fact 36). Each wait for a receiver has its own limit.
std::optional<std::uint32_t> Exchange::repetitions_allowed() const {
  if (!limits || limits->retry_count >= AgreedLimits::kForever) return std::nullopt;
  const std::uint32_t waits = limits->rnr_retry >= AgreedLimits::kForever
                                  ? tries.refusals
                                  : std::min<std::uint32_t>(tries.refusals, limits->rnr_retry);
  return limits->retry_count + waits;
}

void Exchange::begin_anew(const AgreedFlow& agreed) {
  if (!log.is_empty()) reset();
  first_psn = agreed.first_psn;
  limits = agreed.limits;
  if (mtu == 0) mtu = agreed.path_mtu;
}

void Exchange::reset() {
  log.clear();
  mtu = findings.path_mtu();
  last_span_unsure = false;
  is_settled = false;
  first_psn.reset();
  limits.reset();
  tries = {};
  acknowledged.reset();
  refusal.reset();
  fatal.reset();
  holes.clear();
  ++generation;
}

}  // namespace urnic::check
