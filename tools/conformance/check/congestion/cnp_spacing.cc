// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/congestion/cnp_spacing.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

namespace urnic::check {
namespace {

constexpr CnpScope kScopes[] = {CnpScope::kQueuePair, CnpScope::kAddress, CnpScope::kPort};

// What is "one" in a scope, of the packets from `source` to a queue pair of `destination`.
FlowKey key_in(CnpScope scope, const FlowKey& key) {
  switch (scope) {
    case CnpScope::kQueuePair:
      return key;
    case CnpScope::kAddress:
      return {key.source, key.destination, 0};
    case CnpScope::kPort:
      break;
  }
  return {key.source, {}, 0};
}

const char* words_for(CnpScope scope) {
  switch (scope) {
    case CnpScope::kQueuePair:
      return "to one queue pair";
    case CnpScope::kAddress:
      return "to one address";
    case CnpScope::kPort:
      break;
  }
  return "from one port";
}

std::string microseconds(std::int64_t ns) {
  return fmt::format("{:.3f} us", static_cast<double>(ns) / 1e3);
}

}  // namespace

const char* to_string(CnpScope scope) {
  switch (scope) {
    case CnpScope::kQueuePair:
      return "qp";
    case CnpScope::kAddress:
      return "address";
    case CnpScope::kPort:
      return "port";
  }
  return "?";
}

void Distances::add(std::int64_t ns) {
  least_ = count_ == 0 ? ns : std::min(least_, ns);
  if (count_++ % step_ != 0) return;
  if (kept_ == kSample) {
    // Every second one stays, and of those to come half as many are kept as before.
    for (std::size_t i = 0; i < kSample / 2; ++i) sample_[i] = sample_[2 * i];
    kept_ = kSample / 2;
    step_ *= 2;
  }
  sample_[kept_++] = ns;
}

std::int64_t Distances::typical() const {
  if (kept_ == 0) return 0;
  auto sorted = sample_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(kept_ / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(kept_));
  return *middle;
}

void CnpSpacing::on_cnp(std::uint32_t flow, const FlowKey& key, std::uint64_t number, std::int64_t time_ns) {
  CnpSender& from = sender(key.source);
  ++from.cnps;
  const Last now{.time_ns = time_ns, .number = number};
  for (const CnpScope scope : kScopes) {
    const auto index = static_cast<std::size_t>(scope);
    const auto [place, is_first] = last_[index].try_emplace(key_in(scope, key), now);
    const Last last = std::exchange(place->second, now);
    // Frames of some captures are not in the order of their times.
    if (is_first || time_ns < last.time_ns) continue;
    from.distances[index].add(time_ns - last.time_ns);
    if (scope == policy_.cnp_scope && policy_.cnp_spacing_ns > 0) judge(flow, last, now);
  }
}

// Two CNPs that leave as they should may be nearer to each other at the place of capture: time stamps are of
// microseconds, or the first one waited for its turn on the link.
void CnpSpacing::judge(std::uint32_t flow, const Last& last, const Last& now) {
  constexpr std::int64_t kTimeStampNs = 1000;
  const std::int64_t allowed = std::max(kTimeStampNs, policy_.cnp_spacing_ns / 16);
  if (now.time_ns - last.time_ns >= policy_.cnp_spacing_ns - allowed) return;
  findings_.add(Rule::kCnpSpacing, flow, {last.number, now.number},
                fmt::format("{} at least between CNPs {}", microseconds(policy_.cnp_spacing_ns),
                            words_for(policy_.cnp_scope)),
                microseconds(now.time_ns - last.time_ns));
}

void CnpSpacing::on_mark(const FlowKey& key, std::int64_t time_ns) {
  if (policy_.cnp_spacing_ns == 0) return;
  // CNPs go the other way. What is one queue pair to them is one flow here; one port is where the flow ends.
  FlowKey back = key_in(policy_.cnp_scope, {key.destination, key.source, key.destination_qp});
  const auto [place, is_first] = last_expected_.try_emplace(back, Last{.time_ns = time_ns});
  if (!is_first && time_ns - place->second.time_ns < policy_.cnp_spacing_ns) return;
  place->second.time_ns = time_ns;
  ++sender(key.destination).expected;
}

CnpSender& CnpSpacing::sender(const Address& address) {
  const auto [place, is_new] = index_.try_emplace(FlowKey{address, {}, 0}, senders_.size());
  if (is_new) senders_.push_back({.address = address});
  return senders_[place->second];
}

std::uint64_t CnpSpacing::cnps_of(const Address& sender) const {
  const auto place = index_.find(FlowKey{sender, {}, 0});
  return place == index_.end() ? 0 : senders_[place->second].cnps;
}

}  // namespace urnic::check
