// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Judges what one message of the connection manager says by itself.
#pragma once

#include <cstdint>

#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// `seen` is a packet for which is_cm() holds, with a right ICRC.
void check_cm_form(const Seen& seen, std::uint32_t flow, Findings& findings);

}  // namespace urnic::check
