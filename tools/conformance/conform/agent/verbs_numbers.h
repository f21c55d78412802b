// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Numbers of libibverbs in the agent's lines, and what they are here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/conformance/conform/agent/agent_reply.h"
#include "transport/completion.h"
#include "transport/work_request.h"

namespace urnic::conform {

/// A reply to `poll`. Nothing if there was no completion, or one of a kind that no script knows.
std::optional<transport::Completion> read_completion(const AgentReply& reply);

/// Without IBV_EVENT_; "" for events that are not a queue pair's.
std::string_view event_name(std::uint64_t number);

/// What the agent calls it; "" if it cannot post that.
std::string_view operation_name(transport::SendOperation operation);

/// IBV_SEND_FENCE, _SIGNALED, _SOLICITED, _INLINE.
unsigned send_flags(const transport::SendRequest& request, bool is_inline);

}  // namespace urnic::conform
