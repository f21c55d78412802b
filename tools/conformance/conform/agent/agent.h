// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Agent: the program on the peer's machine, as the tester sees it.
#pragma once

#include <cstdint>
#include <string>

#include "tools/conformance/conform/agent/agent_reply.h"
#include "transport/result.h"

namespace urnic::conform {

/// Why there is no reply.
struct AgentError {
  enum class Kind : std::uint8_t {
    kUnreachable,  ///< no connection
    kBusy,         ///< it has another client
    kRefused,      ///< it is of another version, or wants another token
    kVanished,     ///< it went, or said nothing for too long, or nothing that makes sense
  };
  Kind kind = Kind::kVanished;
  std::string message;
};

class Agent {
 public:
  virtual ~Agent() = default;
  /// Says a line, without its end, and waits for the reply, which may be that the agent cannot do it.
  virtual Result<AgentReply, AgentError> ask(const std::string& line) = 0;
};

}  // namespace urnic::conform
