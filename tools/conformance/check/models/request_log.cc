// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/models/request_log.h"

#include <algorithm>
#include <cassert>

namespace urnic::check {
namespace {

constexpr std::int32_t kMaxPsns = 1 << 22;

}  // namespace

void RequestLog::append(const RequestEntry& entry) {
  assert(entry.span <= kMaxSpan && (entries_.empty() || entry.first == next()));
  entries_.push_back(entry);
  while (entries_.size() > limit_ || distance(oldest(), next()) > kMaxPsns) entries_.pop_front();
}

std::optional<std::size_t> RequestLog::index_of(Psn psn) const {
  if (entries_.empty() || distance(oldest(), psn) < 0 || distance(psn, next()) <= 0) return std::nullopt;
  const auto behind =
      std::upper_bound(entries_.begin(), entries_.end(), psn,
                       [](Psn value, const RequestEntry& entry) { return distance(value, entry.first) > 0; });
  return static_cast<std::size_t>(behind - entries_.begin()) - 1;
}

RequestEntry* RequestLog::find(Psn psn) {
  const auto index = index_of(psn);
  return index ? &entries_[*index] : nullptr;
}

void RequestLog::fill(std::size_t missing_index, const RequestEntry& entry) {
  const RequestEntry missing = entries_[missing_index];
  const auto before = static_cast<std::uint32_t>(distance(missing.first, entry.first));
  assert(missing.is_missing && before + entry.span <= missing.span);
  const std::uint32_t behind = missing.span - before - entry.span;
  entries_[missing_index] = entry;
  auto place = entries_.begin() + static_cast<std::ptrdiff_t>(missing_index);
  if (behind > 0) {
    RequestEntry rest = missing;
    rest.first = entry.first + entry.span;
    rest.span = behind;
    place = entries_.insert(place + 1, rest) - 1;
  }
  if (before > 0) {
    RequestEntry rest = missing;
    rest.span = before;
    entries_.insert(place, rest);
  }
}

void RequestLog::settle_spans(const std::function<std::uint32_t(std::uint32_t)>& responses_for) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    RequestEntry& read = entries_[i];
    if (!read.span_unsure) continue;
    read.span_unsure = false;
    const std::uint32_t responses = responses_for(read.length);
    if (responses < read.span) {
      RequestEntry missing{.first = read.first + responses,
                           .span = read.span - responses,
                           .is_missing = true,
                           .first_frame = read.first_frame,
                           .last_frame = read.last_frame,
                           .first_time_ns = read.first_time_ns,
                           .last_time_ns = read.last_time_ns};
      read.span = responses;
      entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(i + 1), missing);
    }
  }
}

}  // namespace urnic::check
