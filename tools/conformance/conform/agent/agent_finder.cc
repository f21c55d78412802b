// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/agent/agent_finder.h"

#include <chrono>
#include <thread>
#include <utility>

namespace urnic::conform {
namespace {

/// After so many failures the remaining cases do not wait for the agent any more.
constexpr unsigned kMostTries = 3;

}  // namespace

std::optional<AgentError> AgentFinder::find() {
  if (agent_ != nullptr || gave_up_) return gave_up_;
  auto connected = TcpAgent::connect(address_, kind_);
  // The agent may not have noticed yet that its last client, this tester, has gone.
  for (int tries = 0; !connected && connected.error().kind == AgentError::Kind::kBusy && tries < 5; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    connected = TcpAgent::connect(address_, kind_);
  }
  if (connected) {
    agent_ = std::move(connected.value());
    failed_in_a_row_ = 0;
    was_there_ = true;
    return std::nullopt;
  }
  // What refuses once will do so again.
  const auto kind = connected.error().kind;
  const bool is_final = kind == AgentError::Kind::kRefused || kind == AgentError::Kind::kBusy;
  if (++failed_in_a_row_ == kMostTries || is_final) gave_up_ = connected.error();
  return connected.error();
}

}  // namespace urnic::conform
