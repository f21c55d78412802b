// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Plays the requester of a direction: our stack is given the same work requests and the captured answers.
#pragma once

#include <vector>

#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/message.h"
#include "tools/conformance/replay/outcome.h"

namespace urnic::replay {

/// Takes one packet from our requester whenever the captured one sent one; the two must be the same.
/// `messages` are the work requests it is given: messages_of(direction), unless a test wants others.
Outcome replay_requester(const Direction& direction, const std::vector<Message>& messages, bool keep_ladder);

}  // namespace urnic::replay
