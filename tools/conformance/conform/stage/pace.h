// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Pace: how the times of a script become times that a tester on a real wire can keep and measure.
#pragma once

#include <cstdint>

#include "tools/conformance/player/settings.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::conform {

/// In a script no time passes between its lines; on a wire some does. A script that waits for ACK timers is
/// slowed down: its timers and its waits are all 2^shift times as long. In all other scripts ACK timers are
/// made so long that none expires.
class Pace {
 public:
  /// kUnavailable: the script takes longer than a tester waits.
  static Result<Pace, scripts::Trouble> plan(const scripts::Script& script,
                                             const scripts::Settings& settings);

  /// What the queue pair is told instead of this code of an ACK timeout.
  std::uint8_t timeout_code(std::uint8_t code) const;
  /// The code in an RNR NAK of ours instead of this one.
  std::uint8_t rnr_code(std::uint8_t code) const;
  transport::Duration wait(transport::Duration duration) const { return duration * (1 << shift_); }

  unsigned shift() const { return shift_; }
  bool uses_ack_timers() const { return uses_ack_timers_; }

 private:
  bool uses_ack_timers_ = false;
  unsigned shift_ = 0;
};

/// Whether something that must come `due` after an anchor came too early. Clocks, processors and the wire
/// take their share: a tenth, and 5 ms.
bool is_too_early(transport::Duration came, transport::Duration due);

/// How long a tester waits for what is due: as long again, and a second.
transport::Duration patience_for(transport::Duration due);

}  // namespace urnic::conform
