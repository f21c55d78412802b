// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/experiment/outcome.h"

#include <algorithm>
#include <cmath>

namespace urnic::experiment {

double JobOutcome::goodput_bps() const {
  const Duration time = ended - began;
  return time > Duration{} ? static_cast<double>(bytes) * 8e9 / static_cast<double>(time.count()) : 0;
}

Duration JobOutcome::completion_time(double share) const {
  if (completion_times.empty()) return {};
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(completion_times.size())));
  return completion_times[std::clamp<std::size_t>(rank, 1, completion_times.size()) - 1];
}

network::PriorityCounters Outcome::total() const {
  network::PriorityCounters sum;
  for (const PortOutcome& port : ports) {
    const network::PriorityCounters& one = port.counters;
    sum.sent_frames += one.sent_frames;
    sum.sent_bytes += one.sent_bytes;
    sum.marked_frames += one.marked_frames;
    sum.pauses_sent += one.pauses_sent;
    sum.paused_time += one.paused_time;
    sum.watchdog_fired += one.watchdog_fired;
    sum.highest_queue_bytes = std::max(sum.highest_queue_bytes, one.highest_queue_bytes);
    for (std::size_t reason = 0; reason < network::kDropReasons; ++reason) {
      sum.dropped_frames[reason] += one.dropped_frames[reason];
    }
  }
  return sum;
}

}  // namespace urnic::experiment
