// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/reading/time_order.h"

#include <algorithm>
#include <utility>

namespace urnic::check {

void TimeOrder::add(const RawFrame& frame) {
  Waiting waiting{.frame = frame, .bytes = {frame.bytes.begin(), frame.bytes.end()}};
  bytes_ += frame.bytes.size();
  waiting_.push_back(std::move(waiting));
  std::push_heap(waiting_.begin(), waiting_.end(), Later());
}

std::optional<RawFrame> TimeOrder::take() {
  if (waiting_.empty()) return std::nullopt;
  std::pop_heap(waiting_.begin(), waiting_.end(), Later());
  Waiting oldest = std::move(waiting_.back());
  waiting_.pop_back();
  bytes_ -= oldest.bytes.size();
  taken_ = std::move(oldest.bytes);
  RawFrame frame = oldest.frame;
  frame.bytes = taken_;
  return frame;
}

}  // namespace urnic::check
