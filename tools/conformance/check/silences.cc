// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/silences.h"

#include <algorithm>

namespace urnic::check {

Landmark landmark_of(const Seen& seen) {
  return {.frame = seen.number,
          .time_ns = seen.time_ns,
          .opcode = seen.packet.opcode,
          .syndrome = seen.packet.syndrome,
          .psn = seen.packet.psn};
}

void Silences::add(const Silence& silence) {
  if (!would_keep(silence.ns)) return;
  const bool is_known = std::any_of(kept_.begin(), kept_.end(), [&](const Silence& kept) {
    return kept.end && silence.end && kept.begin.frame == silence.begin.frame &&
           kept.end->frame == silence.end->frame;
  });
  if (is_known) return;
  // Of two that are equally long the earlier one stays first.
  const auto place = std::upper_bound(kept_.begin(), kept_.end(), silence,
                                      [](const Silence& a, const Silence& b) { return a.ns > b.ns; });
  kept_.insert(place, silence);
  if (kept_.size() > limit_) kept_.pop_back();
}

}  // namespace urnic::check
