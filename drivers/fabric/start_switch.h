// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Starting a switch in the background.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/result.h"

namespace urnic::drivers {

/// What the switch says when it takes requests, or another one does, to the process that has started it.
inline constexpr std::string_view kSwitchIsReady = "ready";

/// Starts `program` as the switch that these words on its command line say, and returns when it takes
/// requests; when another process has been faster, that is as good. The error is what it had to say, or the
/// system's, for a person. Safe from any thread, and in any program: whatever that has arranged for itself,
/// the switch does not inherit.
Result<void, Error> start_switch(const std::string& program, const std::vector<std::string>& words);

}  // namespace urnic::drivers
