// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a script's program does, in the words of the listener on the peer's machine (agent/PROTOCOL.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/conformance/conform/agent/agent_reply.h"
#include "tools/conformance/player/connections/stage.h"
#include "tools/conformance/script/script.h"
#include "tools/conformance/script/trouble.h"
#include "transport/result.h"

namespace urnic::conform::connections {

/// The line for a call that makes an id: `listen`, or what comes before a `connect`. `to` is the tester's
/// address. kUnavailable: the listener has no such ids.
Result<std::string, scripts::Trouble> line_that_makes(const scripts::Statement& statement,
                                                      const std::string& to);
/// The line for a call about the id of this number.
Result<std::string, scripts::Trouble> line_about(const scripts::Statement& statement, std::uint64_t id);

/// The errno value with which librdmacm refused; nothing: it was the listener that did.
std::optional<int> errno_of(const AgentReply& refusal);

/// Nothing if the reply tells of none that a script knows.
std::optional<scripts::connections::Event> event_of(const AgentReply& reply);

}  // namespace urnic::conform::connections
