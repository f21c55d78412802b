// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/target_ledger.h"

#include <iterator>

namespace urnic::verbs_api {
namespace {

std::pair<std::uint64_t, std::uint64_t> range_of(const transport::Sge& element) {
  return {element.address, element.address + element.length};
}

}  // namespace

std::optional<std::uint64_t> TargetLedger::shared(const Range& range) const {
  const auto next = ranges_.lower_bound(range);
  if (next != ranges_.end() && next->first != range && next->first.first < range.second) {
    return next->first.first;
  }
  if (next == ranges_.begin() || (next != ranges_.end() && next->first == range)) return std::nullopt;
  const Range& before = std::prev(next)->first;
  return before.second > range.first ? std::optional(range.first) : std::nullopt;
}

std::optional<std::uint64_t> TargetLedger::add(std::span<const transport::Sge> elements) {
  std::optional<std::uint64_t> found;
  for (const transport::Sge& element : elements) {
    if (element.length == 0) continue;
    const Range range = range_of(element);
    if (const auto address = shared(range)) found = address;
    ++ranges_[range];
  }
  return found;
}

void TargetLedger::remove(std::span<const transport::Sge> elements) {
  for (const transport::Sge& element : elements) {
    const auto range = ranges_.find(range_of(element));
    if (range != ranges_.end() && --range->second == 0) ranges_.erase(range);
  }
}

}  // namespace urnic::verbs_api
