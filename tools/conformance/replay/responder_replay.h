// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Plays the responder of a direction: our stack is given the captured requests.
#pragma once

#include <vector>

#include "tools/conformance/replay/direction.h"
#include "tools/conformance/replay/message.h"
#include "tools/conformance/replay/outcome.h"

namespace urnic::replay {

struct ResponderOptions {
  bool keep_ladder = false;
  /// The responder's program may have changed what the requester wrote: READ responses and atomic answers are
  /// believed, whatever they say.
  bool memory_changes = false;
};

/// What our responder answers must be what the captured one answered, what it receives what was sent.
/// `messages` are messages_of(direction).
Outcome replay_responder(const Direction& direction, const std::vector<Message>& messages,
                         const ResponderOptions& options);

}  // namespace urnic::replay
