// Plays the requester of a lane: our stack is given the same work requests and the captured answers.
#pragma once

#include <vector>

#include "tools/replay/lane.h"
#include "tools/replay/message.h"
#include "tools/replay/outcome.h"

namespace urnic::replay {

/// Our requester is asked for one packet whenever the captured one sent one, and that must be the same.
/// `messages` are the work requests it is given: messages_of(lane), unless a test wants others.
Outcome replay_requester(const Lane& lane, const std::vector<Message>& messages, bool keep_ladder);

}  // namespace urnic::replay
