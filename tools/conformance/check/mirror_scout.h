// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Looks at the beginning of a capture before it is judged.
#pragma once

#include <string>

#include "tools/conformance/check/port_hints.h"

namespace urnic::check {

/// Whether a mirror delivered (almost) all RoCE frames at the beginning of a file twice. False for what can
/// be read once only, like a pipe.
bool has_doubled_frames(const std::string& path, const UdpPorts& ports);

}  // namespace urnic::check
