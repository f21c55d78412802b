// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Timing: how the times of a script about connections become times that a tester on a wire can keep.
#pragma once

#include <cstdint>

#include "tools/conformance/script/connections/mad.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::conform::connections {

/// A script whose peer must repeat after a few milliseconds is slowed down: its waits, and the times that its
/// messages name, are all 2^shift times as long.
class Timing {
 public:
  /// kUnavailable: the script takes longer than a tester waits.
  static Result<Timing, scripts::Trouble> plan(const scripts::Script& script);

  transport::Duration wait(transport::Duration duration) const { return duration * (1 << shift_); }
  /// The same message, with longer times.
  scripts::connections::Mad slowed_down(scripts::connections::Mad mad) const;

 private:
  unsigned shift_ = 0;
};

}  // namespace urnic::conform::connections
