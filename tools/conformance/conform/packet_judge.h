// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Asks the judge of captures, `urnic check`, about the packets of a case.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tools/conformance/conform/wire/port_wire.h"

namespace urnic::conform {

/// The first rule that the peer breaks in these packets, in words; nothing if it breaks none. The tester's
/// own packets break rules on purpose, and are not judged. Nor is whether a repeated packet has the same
/// content as before: scripts change the memory that it is read from.
std::optional<std::string> find_broken_rule(std::span<const RecordedPacket> packets);

}  // namespace urnic::conform
