// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/liveness.h"

#include <fmt/core.h>

#include <chrono>

namespace urnic::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

void Liveness::check_progress() {
  // Datagrams wait until a neighbor is given up, one after the other, and few of them are signaled.
  const Duration resolutions = options_.datagram_hosts * milliseconds(1500);
  const Duration longest = seconds(2) + (options_.retry_count + 3) * 2 * options_.effective_ack_timeout() +
                           4 * options_.rnr_delay() + options_.max_frame_age() + resolutions;
  if (clock_.now() - referee_.last_progress() <= longest) return;
  referee_.complain("liveness", fmt::format("nothing was posted, acknowledged or completed for {} ms",
                                            std::chrono::duration_cast<milliseconds>(longest).count()));
}

void Liveness::begin_silence() {
  quiet_from_ = clock_.now() + 2 * options_.max_frame_age();
}

void Liveness::judge_silence(Time last_frame) {
  if (last_frame <= quiet_from_) return;
  referee_.complain("liveness", "the devices went on talking though everything had completed");
}

}  // namespace urnic::sim
