// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AgentFinder: the connection to an agent. It is made again when it was lost, until that fails too often.
#pragma once

#include <memory>
#include <optional>

#include "tools/conformance/conform/agent/tcp_agent.h"

namespace urnic::conform {

class AgentFinder {
 public:
  AgentFinder(AgentAddress address, const AgentKind& kind) : address_(std::move(address)), kind_(kind) {}

  /// Why there is none; nothing: get() is there. After three failures, or a refusal, it does not try again.
  std::optional<AgentError> find();
  TcpAgent* get() const { return agent_.get(); }
  bool was_there() const { return was_there_; }
  /// The next find() begins with a new connection.
  void lose() { agent_.reset(); }

 private:
  const AgentAddress address_;
  const AgentKind& kind_;
  std::unique_ptr<TcpAgent> agent_;
  std::optional<AgentError> gave_up_;
  unsigned failed_in_a_row_ = 0;
  bool was_there_ = false;
};

}  // namespace urnic::conform
